// Clients that change one document, one sum and one value without reading them first, through every fault.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Makes what they change and starts them beside a load (load.h), against whose replicas they ask; `seed`
// decides which. The replicas must be there.
void document_start(uint64_t seed, size_t replicas);

// Whether one of them saw a change lost or undone, or was answered what no fault explains.
bool document_is_broken(void);

// Stops them and reads through each replica, which must be ready. Fails the test when an acknowledged change
// is not there, when more was added than was asked for, or when something was broken before.
void document_finish(void);
