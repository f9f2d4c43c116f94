// Durations and rates: a canonical integer and a unit, nothing that two readers could take differently.
#include "base/duration.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>

struct unit {
    const char *name;
    int64_t us;
};

// Largest first: formatting takes the first that divides.
static const struct unit units[] = {
    {"d", INT64_C(86400) * 1000000},
    {"h", INT64_C(3600) * 1000000},
    {"m", INT64_C(60) * 1000000},
    {"s", 1000000},
    {"ms", 1000},
};

enum { UNITS = sizeof units / sizeof *units };

static const struct unit *unit_named(struct bytes name)
{
    for (size_t i = 0; i < UNITS; i++)
        if (bytes_is(name, units[i].name))
            return &units[i];
    return NULL;
}

static struct bytes leading_digits(struct bytes text)
{
    size_t size = 0;
    while (size < text.size && text.data[size] >= '0' && text.data[size] <= '9')
        size++;
    return bytes_make(text.data, size);
}

static struct bytes after(struct bytes text, size_t size)
{
    return bytes_make(text.data + size, text.size - size);
}

bool duration_parse(struct bytes text, int64_t *us)
{
    struct bytes digits = leading_digits(text);
    const struct unit *unit = unit_named(after(text, digits.size));
    int64_t count = 0;
    int64_t product = 0;
    if (!unit || !text_int64(digits, &count))
        return false;
    if (__builtin_mul_overflow(count, unit->us, &product) || product <= 0 || product > DURATION_MAX_US)
        return false;
    *us = product;
    return true;
}

void duration_format(int64_t us, char out[24])
{
    const struct unit *unit = units;
    while (unit < units + UNITS - 1 && us % unit->us != 0)
        unit++;
    snprintf(out, 24, "%" PRId64 "%s", us / unit->us, unit->name);
}

bool rate_parse(struct bytes text, int64_t *count, int64_t *per_us)
{
    struct bytes digits = leading_digits(text);
    int64_t n = 0;
    if (!text_int64(digits, &n) || n < 1 || digits.size == text.size || text.data[digits.size] != '/')
        return false;
    struct bytes period = after(text, digits.size + 1);
    const struct unit *bare = unit_named(period);
    int64_t us = bare ? bare->us : 0;
    if (!bare && !duration_parse(period, &us))
        return false;
    *count = n;
    *per_us = us;
    return true;
}

void rate_format(int64_t count, int64_t per_us, char out[48])
{
    char period[24];
    duration_format(per_us, period);
    bool bare = period[0] == '1' && (period[1] < '0' || period[1] > '9');
    snprintf(out, 48, "%" PRId64 "/%s", count, period + bare);
}
