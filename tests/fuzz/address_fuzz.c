// Addresses of clients: those that count as one are of one user's network, and an address of four bytes never
// counts as one of sixteen.
#include "fuzz.h"

#include "http/addresses.h"

#include <netinet/in.h>

static uint64_t key_of_four(const uint8_t *bytes)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    memcpy(&address.sin_addr, bytes, 4);
    return addresses_key((struct sockaddr *)&address);
}

static uint64_t key_of_six(const uint8_t *bytes)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6};
    memcpy(&address.sin6_addr, bytes, 16);
    return addresses_key((struct sockaddr *)&address);
}

static bool is_mapped(const uint8_t *six)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(six, mapped, sizeof mapped) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 36)
        return 0;
    const uint8_t *four = data, *a = data + 4, *b = data + 20;
    uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff};
    memcpy(mapped + 12, four, 4);
    must(key_of_six(mapped) == key_of_four(four));
    if (!is_mapped(a) && !is_mapped(b))
        must((key_of_six(a) == key_of_six(b)) == (memcmp(a, b, 8) == 0));
    if (!is_mapped(a) && a[0] != 0xff) // which is no client's
        must(key_of_six(a) != key_of_four(four));
    uint64_t key = key_of_six(a);
    must(addresses_enter(key) == 1 && addresses_enter(key) == 2);
    addresses_leave(key);
    addresses_leave(key);
    must(addresses_enter(key) == 1);
    addresses_leave(key);
    return 0;
}
