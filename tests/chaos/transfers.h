// Clients that move money between accounts in transactions, and add all accounts up in views, through every
// fault.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Opens the accounts and starts the clients beside a load (load.h), against whose replicas they ask; `seed`
// decides which. The replicas must be there.
void transfers_start(uint64_t seed, size_t replicas);

// Whether one of them saw half a transaction, or was answered what no fault explains.
bool transfers_are_broken(void);

// Stops them and adds up through each replica, which must be ready. Fails the test when money was made or
// lost, or when something was broken before.
void transfers_finish(void);
