// Splitmix64, since it is four lines, has no bad seeds and gives the same numbers everywhere.
#include "support/random.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct random random_seeded(uint64_t seed, uint64_t stream)
{
    struct random random = {seed ^ (stream * UINT64_C(0xd1342543de82ef95))};
    random_next(&random);
    return random;
}

uint64_t random_next(struct random *random)
{
    uint64_t z = (random->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

size_t random_below(struct random *random, size_t limit)
{
    return (size_t)(random_next(random) % limit);
}

bool random_chance(struct random *random, unsigned percent)
{
    return random_below(random, 100) < percent;
}

void random_bytes(struct random *random, void *bytes, size_t size)
{
    unsigned char *at = bytes;
    while (size > 0) {
        uint64_t word = random_next(random);
        size_t part = size < sizeof word ? size : sizeof word;
        memcpy(at, &word, part);
        at += part;
        size -= part;
    }
}

uint64_t random_run_seed(void)
{
    const char *text = getenv("HOLDFAST_SEED");
    if (text != NULL && *text != '\0') {
        char *end;
        errno = 0;
        uint64_t seed = strtoull(text, &end, 10);
        if (errno == 0 && *end == '\0') {
            return seed;
        }
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000003 + (uint64_t)now.tv_nsec % 1000003;
}
