// Many clients writing and reading through one to three replicas for as long as a test disturbs them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOAD_CLIENTS = 20, LOAD_REPLICAS = 3 };

// Starts the clients against `replicas` replicas; `seed` decides what they do. Only one load runs at a time.
void load_start(uint64_t seed, size_t replicas);

// Says where a replica listens now; 0: nowhere. First called by the process that makes all others.
void load_set_port(size_t replica, uint16_t port);
uint16_t load_port(size_t replica);

// Acknowledged writes so far, through one replica.
size_t load_acknowledged(size_t replica);

// Waits until a replica has acknowledged another one, or a promise is broken. False after `limit_ms`.
bool load_await_writes(size_t replica, int limit_ms);

// Whether a client of the load, or any caller (caller.h), has met a broken promise.
bool load_is_broken(void);

// Stops the clients, reads back every key through the replicas in turn, prints counts under `title`, and
// fails the test when a promise was broken: a lost or changed acknowledged write, a write that was done after
// an answer that nothing was, a status that no fault explains, a version used twice.
void load_finish(const char *title);
