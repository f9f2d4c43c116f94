// Option values: what is accepted of a size, an address or a list of origins says one thing, which is within
// bounds.
#include "fuzz.h"

#include "base/arena.h"
#include "base/buffer.h"
#include "base/text.h"
#include "listener.h"
#include "option_values.h"

static void check_size(const char *text)
{
    size_t bytes = 0, again = 0;
    if (!option_size(text, &bytes))
        return;
    char plain[24];
    snprintf(plain, sizeof plain, "%zu", bytes);
    must(bytes >= 1 && bytes <= INT64_MAX && option_size(plain, &again) && again == bytes);
    int64_t n;
    must(text_int64(bytes_of(text), &n) ? (size_t)n == bytes : bytes % 1024 == 0);
}

static void check_listen(const char *text)
{
    struct listen_address address, again;
    const char *field;
    bool read = listen_address_read(text, &address);
    must(option_listen(text, &field) == read);
    if (!read)
        return;
    char written[LISTEN_HOST_BYTES + LISTEN_PORT_BYTES + 4];
    bool six = strchr(address.host, ':') != NULL;
    snprintf(written, sizeof written, six ? "[%s]:%s" : "%s:%s", address.host, address.port);
    must(*address.host && listen_address_read(written, &again));
    must(strcmp(again.host, address.host) == 0 && strcmp(again.port, address.port) == 0);
}

// Each origin of an accepted list is one by itself, and none has what would let it say more in a header.
static void check_origins(struct arena *arena, const char *text)
{
    const char *field;
    if (!option_origins(text, &field) || strcmp(text, "*") == 0)
        return;
    must(!text_has_control(bytes_of(text)) && !strchr(text, ' '));
    for (const char *at = text;; at++) {
        size_t size = strcspn(at, ",");
        const char *one = (const char *)arena_copy(arena, bytes_make(at, size)).data;
        must(size > 4 && strstr(one, "://") && option_origins(one, &field));
        at += size;
        if (!*at)
            return;
    }
}

static void check_numbers(const char *text)
{
    unsigned connections = 0;
    int workers = 0;
    if (option_workers(text, &workers))
        must(workers >= 1 && workers <= 256 && option_connections(text, &connections) &&
             connections == (unsigned)workers);
    if (option_connections_or_none(text, &connections))
        must(connections <= 1000000 && (connections || strcmp(text, "0") == 0));
    int64_t us = 0, ttl = 0;
    bool duration = option_duration(text, &us);
    must(!option_lease_ttl(text, &ttl) || (duration && ttl == us && us >= 100000));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    const char *text = (const char *)arena_copy(&arena, bytes_make(data, size)).data;
    check_size(text);
    check_listen(text);
    check_origins(&arena, text);
    check_numbers(text);
    arena_free(&arena);
    return 0;
}
