// Repeatable chance: a small generator whose whole state is one number, so that a printed seed replays a
// test.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct random {
    uint64_t state;
};

// The generator for `seed`; `stream` gives every thread of one test a sequence of its own.
struct random random_seeded(uint64_t seed, uint64_t stream);

// The next 64 bits (splitmix64).
uint64_t random_next(struct random *random);

// A number from 0 to `limit` - 1; `limit` is above 0.
size_t random_below(struct random *random, size_t limit);

// True in `percent` of 100 draws.
bool random_chance(struct random *random, unsigned percent);

// Fills `size` bytes.
void random_bytes(struct random *random, void *bytes, size_t size);

// The seed of this run: the environment's HOLDFAST_SEED when it is a decimal number, else one from the clock.
uint64_t random_run_seed(void);
