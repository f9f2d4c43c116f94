// The readers of option values: each takes one form, and nothing that is only nearly of it.
#include "option_values.h"

#include "base/duration.h"
#include "base/text.h"
#include "listener.h"
#include "options.h"
#include "store/reach.h"

#include <string.h>

enum { SHORTEST_LEASE = 100 * 1000 };

bool option_text(const char *text, void *field)
{
    *(const char **)field = text;
    return *text != 0;
}

bool option_database(const char *text, void *field)
{
    *(const char **)field = text;
    return *text && reach_reads(text);
}

// Whether the address exists is found out when it is listened on.
bool option_listen(const char *text, void *field)
{
    struct listen_address address;
    *(const char **)field = text;
    return listen_address_read(text, &address);
}

bool option_another(const char *text, void *field)
{
    struct option_texts *all = field;
    if (all->count == OPTIONS_TEXTS)
        return false;
    all->texts[all->count++] = text;
    return *text != 0;
}

bool option_switch(const char *text, void *field)
{
    bool on = !strcmp(text, "true") || !strcmp(text, "1") || !strcmp(text, "yes");
    bool off = !strcmp(text, "false") || !strcmp(text, "0") || !strcmp(text, "no") || !*text;
    *(bool *)field = on;
    return on || off;
}

bool option_level(const char *text, void *field)
{
    return log_parse_level(text, field);
}

bool option_duration(const char *text, void *field)
{
    return duration_parse(bytes_of(text), field);
}

// `0` switches a waiting off; elsewhere a duration of nothing is a mistake.
bool option_duration_or_none(const char *text, void *field)
{
    if (!strcmp(text, "0")) {
        *(int64_t *)field = 0;
        return true;
    }
    return option_duration(text, field);
}

// A limit below the shortest lease would grant none.
bool option_lease_ttl(const char *text, void *field)
{
    return option_duration(text, field) && *(int64_t *)field >= SHORTEST_LEASE;
}

static bool read_number(const char *text, int64_t most, int64_t *n)
{
    return text_int64(bytes_of(text), n) && *n >= 1 && *n <= most;
}

bool option_size(const char *text, void *field)
{
    static const char units[] = "kmg";
    size_t length = strlen(text);
    const char *unit = length ? strchr(units, text[length - 1] | 0x20) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    int64_t n;
    if (!text_int64(bytes_make(text, length - (unit != NULL)), &n) || n < 1 || n > INT64_MAX >> shift)
        return false;
    *(size_t *)field = (size_t)n << shift;
    return true;
}

// A body of any value or JSON request must find room.
bool option_body_memory(const char *text, void *field)
{
    return option_size(text, field) && *(size_t *)field >= OPTIONS_LEAST_BODY_MEMORY;
}

bool option_workers(const char *text, void *field)
{
    int64_t n;
    if (!read_number(text, 256, &n))
        return false;
    *(int *)field = (int)n;
    return true;
}

bool option_connections(const char *text, void *field)
{
    int64_t n;
    if (!read_number(text, 1000000, &n))
        return false;
    *(unsigned *)field = (unsigned)n;
    return true;
}

bool option_connections_or_none(const char *text, void *field)
{
    *(unsigned *)field = 0;
    return !strcmp(text, "0") || option_connections(text, field);
}

// An origin is a scheme and an authority, as browsers send it: https://app.example.com:8443.
static bool is_origin(struct bytes origin)
{
    const uint8_t *colon = origin.size ? memchr(origin.data, ':', origin.size) : NULL;
    size_t scheme = colon ? (size_t)(colon - origin.data) : 0;
    if (!scheme || origin.size < scheme + 4 || memcmp(colon, "://", 3) != 0)
        return false;
    for (size_t i = 0; i < origin.size; i++)
        if (origin.data[i] <= 0x20 || origin.data[i] >= 0x7f || (i >= scheme + 3 && origin.data[i] == '/'))
            return false;
    return true;
}

bool option_origins(const char *text, void *field)
{
    *(const char **)field = text;
    if (!strcmp(text, "*"))
        return true;
    for (const char *at = text;; at++) {
        const char *end = at + strcspn(at, ",");
        if (!is_origin(bytes_make(at, (size_t)(end - at))))
            return false;
        if (!*end)
            return true;
        at = end;
    }
}
