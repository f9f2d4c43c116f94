// A line each: the offset, a hash of what is before it, and the addresses. A new one takes the place of the
// old as a whole.
#include "client/load_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void load_reach_begin(struct load_reach *reach)
{
    reach->offset = 0;
    crypto_generichash_init(&reach->hash, NULL, 0, LOAD_STATE_HASH);
}

void load_reach_add(struct load_reach *reach, const void *bytes, size_t size)
{
    reach->offset += (int64_t)size;
    crypto_generichash_update(&reach->hash, bytes, size);
}

static void write_hash(const struct load_reach *reach, char text[2 * LOAD_STATE_HASH + 1])
{
    crypto_generichash_state hash = reach->hash; // which the end would use up
    unsigned char bytes[LOAD_STATE_HASH];
    crypto_generichash_final(&hash, bytes, sizeof bytes);
    sodium_bin2hex(text, 2 * LOAD_STATE_HASH + 1, bytes, sizeof bytes);
}

static bool refuse(const char *path, const char *why)
{
    fprintf(stderr, "holdfast: %s %s\n", path, why);
    return false;
}

static bool read_lines(struct load_state *state, FILE *file)
{
    char *urls = NULL;
    size_t room = 0;
    long long offset = 0;
    bool whole = fscanf(file, "%18lld %32s ", &offset, state->hash) == 2 && offset >= 0 &&
                 strlen(state->hash) == 2 * (size_t)LOAD_STATE_HASH && getline(&urls, &room, file) > 0;
    if (!whole)
        refuse(state->path, "is no state of a load");
    else {
        urls[strcspn(urls, "\n")] = 0;
        whole = strcmp(urls, state->urls) == 0 ||
                refuse(state->path, "is the state of a load to another address");
    }
    state->offset = offset;
    free(urls);
    return whole;
}

bool load_state_read(struct load_state *state, const char *path, const char *urls)
{
    struct stat status;
    *state = (struct load_state){.path = path, .urls = urls};
    if (!path || (lstat(path, &status) != 0 && errno == ENOENT))
        return true;
    FILE *file = fopen(path, "r");
    if (!file)
        return refuse(path, strerror(errno));
    bool good = (lstat(path, &status) == 0 && S_ISREG(status.st_mode)) || refuse(path, "is no ordinary file");
    good = good && read_lines(state, file);
    fclose(file);
    return good;
}

bool load_state_fits(const struct load_state *state, const struct load_reach *reach)
{
    char hash[2 * LOAD_STATE_HASH + 1];
    write_hash(reach, hash);
    return reach->offset == state->offset && strcmp(hash, state->hash) == 0;
}

bool load_state_keep(const struct load_state *state, const struct load_reach *reach)
{
    char hash[2 * LOAD_STATE_HASH + 1], *next = NULL;
    if (!state->path)
        return true;
    if (asprintf(&next, "%s.next", state->path) < 0)
        abort();
    write_hash(reach, hash);
    FILE *file = fopen(next, "w");
    bool kept = file && fprintf(file, "%lld\n%s\n%s\n", (long long)reach->offset, hash, state->urls) > 0;
    kept = file && fclose(file) == 0 && kept && rename(next, state->path) == 0;
    if (!kept)
        fprintf(stderr, "holdfast: %s: %s\n", state->path, strerror(errno));
    free(next);
    return kept;
}
