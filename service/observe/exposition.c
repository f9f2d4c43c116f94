// The rules of the format: one HELP and TYPE a family, escaped labels, cumulative buckets.
#include "observe/exposition.h"

#include <stdio.h>

static void add_escaped(struct buffer *out, const char *text, bool quoted)
{
    for (; *text; text++) {
        if (*text == '\\')
            buffer_add_text(out, "\\\\");
        else if (*text == '\n')
            buffer_add_text(out, "\\n");
        else if (*text == '"' && quoted)
            buffer_add_text(out, "\\\"");
        else
            buffer_add_char(out, *text);
    }
}

void exposition_family(struct buffer *out, const char *name, enum exposition_type type, const char *help)
{
    static const char *const types[] = {"counter", "gauge", "histogram"};
    buffer_printf(out, "# HELP %s ", name);
    add_escaped(out, help, false);
    buffer_printf(out, "\n# TYPE %s %s\n", name, types[type]);
}

static void add_label(struct buffer *out, bool first, const char *name, const char *value)
{
    buffer_add_char(out, first ? '{' : ',');
    buffer_add_text(out, name);
    buffer_add_text(out, "=\"");
    add_escaped(out, value, true);
    buffer_add_char(out, '"');
}

// `le` is the upper bound of a bucket, NULL for what is none.
static void add_name(struct buffer *out, const char *name, const char *suffix, const exposition_labels labels,
                     const char *le)
{
    bool first = true;
    buffer_add_text(out, name);
    buffer_add_text(out, suffix);
    for (int i = 0; i < EXPOSITION_LABELS && labels[i].name; i++) {
        add_label(out, first, labels[i].name, labels[i].value);
        first = false;
    }
    if (le) {
        add_label(out, first, "le", le);
        first = false;
    }
    buffer_add_text(out, first ? " " : "} ");
}

static void add_number(struct buffer *out, uint64_t number, uint64_t scale)
{
    if (scale == 1)
        buffer_printf(out, "%llu\n", (unsigned long long)number);
    else
        buffer_printf(out, "%llu.%06llu\n", (unsigned long long)(number / scale),
                      (unsigned long long)(number % scale));
}

void exposition_sample(struct buffer *out, const char *name, const exposition_labels labels, uint64_t number,
                       uint64_t scale)
{
    add_name(out, name, "", labels, NULL);
    add_number(out, number, scale);
}

void exposition_histogram(struct buffer *out, const char *name, const exposition_labels labels,
                          const struct histogram_bounds *bounds, const uint64_t *within, uint64_t sum)
{
    uint64_t count = 0;
    for (int i = 0; i <= bounds->count; i++) {
        char le[32] = "+Inf";
        if (i < bounds->count)
            snprintf(le, sizeof le, "%.12g", (double)bounds->most[i] / (double)bounds->scale);
        count += within[i];
        add_name(out, name, "_bucket", labels, le);
        add_number(out, count, 1);
    }
    add_name(out, name, "_sum", labels, NULL);
    add_number(out, sum, bounds->scale);
    add_name(out, name, "_count", labels, NULL);
    add_number(out, count, 1);
}
