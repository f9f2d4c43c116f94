// How many connections each address has, in all workers together.
#include "http/addresses.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <uthash.h>

struct counted {
    uint64_t key;
    unsigned connections;
    UT_hash_handle hh;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct counted *all;

uint64_t addresses_key(const struct sockaddr *address)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    uint32_t four;
    uint64_t network;
    if (address->sa_family == AF_INET) {
        memcpy(&four, &((const struct sockaddr_in *)(const void *)address)->sin_addr, sizeof four);
        return four;
    }
    const uint8_t *six = ((const struct sockaddr_in6 *)(const void *)address)->sin6_addr.s6_addr;
    if (memcmp(six, mapped, sizeof mapped) == 0) {
        memcpy(&four, six + sizeof mapped, sizeof four);
        return four;
    }
    memcpy(&network, six, sizeof network);
    return network;
}

unsigned addresses_enter(uint64_t key)
{
    struct counted *counted;
    pthread_mutex_lock(&mutex);
    HASH_FIND(hh, all, &key, sizeof key, counted);
    if (!counted) {
        counted = calloc(1, sizeof *counted);
        if (!counted)
            abort();
        counted->key = key;
        HASH_ADD(hh, all, key, sizeof counted->key, counted);
    }
    unsigned connections = ++counted->connections;
    pthread_mutex_unlock(&mutex);
    return connections;
}

void addresses_leave(uint64_t key)
{
    struct counted *counted;
    pthread_mutex_lock(&mutex);
    HASH_FIND(hh, all, &key, sizeof key, counted);
    if (counted && --counted->connections == 0) {
        HASH_DEL(all, counted);
        free(counted);
    }
    pthread_mutex_unlock(&mutex);
}
