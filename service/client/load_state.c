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

const char *load_state_take(struct load_state *state, FILE *file)
{
    char *urls = NULL;
    size_t room = 0;
    long long offset = 0;
    const char *wrong = NULL;
    // The addresses may begin with a space, so what is read before them ends at the end of its line.
    bool whole = fscanf(file, "%18lld %32s", &offset, state->hash) == 2 && offset >= 0 &&
                 strspn(state->hash, "0123456789abcdef") == 2 * (size_t)LOAD_STATE_HASH &&
                 fgetc(file) == '\n' && getline(&urls, &room, file) > 0;
    if (whole)
        urls[strcspn(urls, "\n")] = 0;
    if (!whole)
        wrong = "is no state of a load";
    else if (strcmp(urls, state->urls) != 0)
        wrong = "is the state of a load to another address";
    state->offset = wrong ? 0 : offset;
    free(urls);
    return wrong;
}

static bool refuse(const char *path, const char *why)
{
    fprintf(stderr, "holdfast: %s %s\n", path, why);
    return false;
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
    bool ordinary = lstat(path, &status) == 0 && S_ISREG(status.st_mode);
    const char *wrong = ordinary ? load_state_take(state, file) : "is no ordinary file";
    fclose(file);
    return !wrong || refuse(path, wrong);
}

bool load_state_fits(const struct load_state *state, const struct load_reach *reach)
{
    char hash[2 * LOAD_STATE_HASH + 1];
    write_hash(reach, hash);
    return reach->offset == state->offset && strcmp(hash, state->hash) == 0;
}

bool load_state_put(const struct load_state *state, const struct load_reach *reach, FILE *file)
{
    char hash[2 * LOAD_STATE_HASH + 1];
    write_hash(reach, hash);
    return fprintf(file, "%lld\n%s\n%s\n", (long long)reach->offset, hash, state->urls) > 0;
}

bool load_state_keep(const struct load_state *state, const struct load_reach *reach)
{
    char *next = NULL;
    if (!state->path)
        return true;
    if (asprintf(&next, "%s.next", state->path) < 0)
        abort();
    FILE *file = fopen(next, "w");
    bool kept = file && load_state_put(state, reach, file);
    kept = file && fclose(file) == 0 && kept && rename(next, state->path) == 0;
    if (!kept)
        fprintf(stderr, "holdfast: %s: %s\n", state->path, strerror(errno));
    free(next);
    return kept;
}
