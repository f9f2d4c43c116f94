// How far a load is, kept in a file, so that one that broke off goes on there and nothing else does.
#pragma once

#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { LOAD_STATE_HASH = 16 };

// What was read of an input up to one place.
struct load_reach {
    int64_t offset;
    crypto_generichash_state hash; // of all bytes before it
};

struct load_state {
    const char *path; // NULL: nothing is kept
    const char *urls; // where it is loaded
    int64_t offset;   // up to where an earlier load came; 0: there was none
    char hash[2 * LOAD_STATE_HASH + 1];
};

void load_reach_begin(struct load_reach *reach);
void load_reach_add(struct load_reach *reach, const void *bytes, size_t size);

// Takes offset and hash from the text of a state, for the addresses that the state has already. NULL, or what
// is wrong with the text, to be said behind its name; the offset is 0 then.
const char *load_state_take(struct load_state *state, FILE *file);

// Writes such a text. False when it cannot.
bool load_state_put(const struct load_state *state, const struct load_reach *reach, FILE *file);

// Reads the file, when it is there. False, with a line on standard error, when it is no state of a load to
// these addresses, or no file at all but a device, a link or the like.
bool load_state_read(struct load_state *state, const char *path, const char *urls);

// Whether the input begins with what the earlier load had read. To be asked when reach->offset is
// state->offset.
bool load_state_fits(const struct load_state *state, const struct load_reach *reach);

// Keeps a new place. False, with a line on standard error, when it cannot.
bool load_state_keep(const struct load_state *state, const struct load_reach *reach);
