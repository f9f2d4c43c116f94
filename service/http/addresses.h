// How many connections each address has, in all workers together.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sockaddr;

// What an address counts as: itself, or the /64 network of IPv6 that a single user has at least.
uint64_t addresses_key(const struct sockaddr *address);

// Counts a connection in, and gives how many the address has with it. From any thread.
unsigned addresses_enter(uint64_t key);

// Counts it out. From any thread.
void addresses_leave(uint64_t key);
