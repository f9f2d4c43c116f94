// What a correct service holds of the main data and of forks, where making a fork copies everything.
#pragma once

#include "base/bytes.h"

enum { FORK_BUCKETS = 3, FORK_KEYS = 8, FORK_SLOTS = 6, FORK_VERSION = 64 };

struct fork_cell {
    bool present; // also while it is expired
    bool expires;
    int64_t expires_at; // microseconds since 1970
    int64_t value;
    char version[FORK_VERSION];
};

struct fork_bucket {
    bool declared;
    struct fork_cell cells[FORK_KEYS];
};

struct model_fork {
    bool open;
    bool severed;
    int64_t created_at;
    char id[32];
    struct fork_bucket base[FORK_BUCKETS]; // severed: the main data when it was made
    struct fork_bucket own[FORK_BUCKETS];  // what it wrote; declared: it has been written in
    bool touched[FORK_BUCKETS][FORK_KEYS];
    char seen[FORK_BUCKETS][FORK_KEYS][FORK_VERSION]; // before its first write; empty: absent
};

struct fork_world {
    int64_t now;
    struct fork_bucket main[FORK_BUCKETS];
    struct model_fork forks[FORK_SLOTS];
};

// All of them take a fork, or NULL for the main data.

// What is seen there: the live cell or NULL. With its expiry as a reader is told it.
const struct fork_cell *world_seen(const struct fork_world *world, const struct model_fork *fork,
                                   size_t bucket, size_t key);

// Whether the bucket is declared there.
bool world_declared(const struct fork_world *world, const struct model_fork *fork, size_t bucket);

// The expiry that a write leaves to the cell that is seen: that of a severed fork's base begins anew when it
// is over.
int64_t world_kept_expiry(const struct fork_world *world, const struct model_fork *fork,
                          const struct fork_cell *cell);

// That a write was tried, in a fork: its bucket there is its own from now on when there is one.
void world_tried(struct fork_world *world, struct model_fork *fork, size_t bucket);

// Writes a cell, and removes one.
void world_put(struct fork_world *world, struct model_fork *fork, size_t bucket, size_t key,
               const struct fork_cell *cell);
void world_delete(struct fork_world *world, struct model_fork *fork, size_t bucket, size_t key);

// Drops a bucket of the main data.
void world_drop(struct fork_world *world, size_t bucket);

// Opens `fork` as a copy of the main data.
void world_fork(struct fork_world *world, struct model_fork *fork, bool severed);

// How many keys the fork wrote, and whether one of them is not in the main data what the fork saw.
size_t world_touched(const struct model_fork *fork);
bool world_moved(const struct fork_world *world, const struct model_fork *fork);

// Applies the fork to the main data and closes it. The versions written are not known yet: they are those of
// the fork.
void world_promote(struct fork_world *world, struct model_fork *fork);
