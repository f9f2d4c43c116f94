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

// Below a network that nobody's address is of, the multicast one ff00::/8: else 32.1.13.184 would count as
// 2001:db8::/64.
static uint64_t key_of_four(const void *four)
{
    uint8_t bytes[8] = {0xff};
    uint64_t key;
    memcpy(bytes + 4, four, 4);
    memcpy(&key, bytes, sizeof key);
    return key;
}

uint64_t addresses_key(const struct sockaddr *address)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    uint64_t network;
    if (address->sa_family == AF_INET)
        return key_of_four(&((const struct sockaddr_in *)(const void *)address)->sin_addr);
    const uint8_t *six = ((const struct sockaddr_in6 *)(const void *)address)->sin6_addr.s6_addr;
    if (memcmp(six, mapped, sizeof mapped) == 0)
        return key_of_four(six + sizeof mapped);
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
