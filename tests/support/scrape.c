// The grammar by hand, one line after the other.
#include "support/scrape.h"

#include "support/failure.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 128, LE = 32 };

struct series {
    char *text;
    double value;
};

struct family {
    char name[NAME];
    char type[16];
    bool typed;
    // The histogram that is being read: the labels but le, the last bucket and bound.
    char *labels;
    double bucket;
    double bound;
};

struct scrape {
    struct series *series;
    size_t count;
    char (*families)[NAME];
    size_t family_count;
    struct family family;
};

#define fault(line, reason) support_fail("not a good line, %s: %s", reason, line)

static const char *take_name(const char *at, const char *line, bool label, char out[NAME])
{
    size_t size = 0;
    while (isalnum((unsigned char)at[size]) || at[size] == '_' || (!label && at[size] == ':'))
        size++;
    if (!size || size >= NAME || isdigit((unsigned char)at[0]))
        fault(line, "the name");
    memcpy(out, at, size);
    out[size] = 0;
    return at + size;
}

static const char *skip(const char *at, const char *line, const char *expected)
{
    size_t size = strlen(expected);
    if (strncmp(at, expected, size) != 0)
        fault(line, expected);
    return at + size;
}

static void begin_family(struct scrape *scrape, const char *line, const char *name)
{
    for (size_t i = 0; i < scrape->family_count; i++)
        if (strcmp(scrape->families[i], name) == 0)
            fault(line, "the family came before");
    scrape->families = realloc(scrape->families, (scrape->family_count + 1) * sizeof *scrape->families);
    snprintf(scrape->families[scrape->family_count++], NAME, "%s", name);
    free(scrape->family.labels);
    memset(&scrape->family, 0, sizeof scrape->family);
    snprintf(scrape->family.name, NAME, "%s", name);
}

static void read_help(struct scrape *scrape, const char *line)
{
    char name[NAME];
    const char *at = skip(take_name(line + strlen("# HELP "), line, false, name), line, " ");
    if (!*at)
        fault(line, "the help is empty");
    for (; *at; at++)
        if (*at == '\\' && *++at != '\\' && *at != 'n')
            fault(line, "an escape");
    begin_family(scrape, line, name);
}

static void read_type(struct scrape *scrape, const char *line)
{
    struct family *family = &scrape->family;
    char name[NAME];
    const char *at = skip(take_name(line + strlen("# TYPE "), line, false, name), line, " ");
    if (strcmp(name, family->name) != 0 || family->typed)
        fault(line, "TYPE follows its HELP, once");
    if (strcmp(at, "counter") != 0 && strcmp(at, "gauge") != 0 && strcmp(at, "histogram") != 0)
        fault(line, "the type");
    size_t size = strlen(name);
    if (!strcmp(at, "counter") && (size < 7 || strcmp(name + size - 6, "_total") != 0))
        fault(line, "a counter ends in _total");
    snprintf(family->type, sizeof family->type, "%s", at);
    family->typed = true;
}

static const char *take_value(const char *at, const char *line, char **copy)
{
    size_t size = 0;
    while (at[size] != '"') {
        if (!at[size] || (at[size] == '\\' && !strchr("\\\"n", at[++size])))
            fault(line, "a label's value");
        size++;
    }
    *copy = strndup(at, size);
    return at + size + 1;
}

// Reads the labels; those but le go to `others` as they are written, le to `le` (empty: none).
static const char *take_labels(const char *at, const char *line, char *others, char le[LE])
{
    le[0] = others[0] = 0;
    if (*at != '{')
        return at;
    for (at++; *at != '}';) {
        char name[NAME], *value;
        at = skip(take_name(at, line, true, name), line, "=\"");
        at = take_value(at, line, &value);
        if (strcmp(name, "le") == 0)
            snprintf(le, LE, "%s", value);
        else
            sprintf(others + strlen(others), "%s=\"%s\",", name, value); // no longer than the line
        free(value);
        if (*at == ',')
            at++;
        else if (*at != '}')
            fault(line, "what follows a label");
    }
    return at + 1;
}

static double take_number(const char *at, const char *line)
{
    char *end;
    double number = strtod(at, &end);
    if (end == at || *end || isnan(number))
        fault(line, "the number");
    return number;
}

static void check_bucket(struct family *family, const char *line, const char *others, const char *le,
                         double value)
{
    if (!le[0])
        fault(line, "a bucket without le");
    double bound = strcmp(le, "+Inf") == 0 ? HUGE_VAL : take_number(le, line);
    bool first = !family->labels;
    if (first)
        family->labels = strdup(others);
    if (!first && (strcmp(family->labels, others) != 0 || bound <= family->bound || value < family->bucket))
        fault(line, "the buckets do not ascend");
    family->bucket = value;
    family->bound = bound;
}

static void check_histogram(struct family *family, const char *line, const char *suffix, const char *others,
                            const char *le, double value)
{
    if (strcmp(suffix, "_bucket") == 0) {
        check_bucket(family, line, others, le, value);
        return;
    }
    if (!family->labels || strcmp(family->labels, others) != 0 || family->bound != HUGE_VAL || le[0])
        fault(line, "a sum or count belongs to the buckets before it");
    if (strcmp(suffix, "_sum") == 0)
        return;
    if (strcmp(suffix, "_count") != 0 || value != family->bucket)
        fault(line, "the count is the last bucket");
    free(family->labels);
    family->labels = NULL;
}

static void keep(struct scrape *scrape, const char *line, size_t size, double value)
{
    struct series series = {strndup(line, size), value};
    if (scrape_value(scrape, series.text) >= 0)
        fault(line, "the series came before");
    scrape->series = realloc(scrape->series, (scrape->count + 1) * sizeof *scrape->series);
    scrape->series[scrape->count++] = series;
}

static void read_sample(struct scrape *scrape, const char *line)
{
    struct family *family = &scrape->family;
    char name[NAME], le[LE];
    char *others = malloc(strlen(line) + 2);
    const char *after = take_labels(take_name(line, line, false, name), line, others, le);
    double value = take_number(skip(after, line, " "), line);
    size_t size = strlen(family->name);
    if (!family->typed || strncmp(name, family->name, size) != 0 || value < 0)
        fault(line, "a sample belongs to the family before it and is not negative");
    if (strcmp(family->type, "histogram") == 0)
        check_histogram(family, line, name + size, others, le, value);
    else if (name[size] || le[0])
        fault(line, "the name is the family's");
    keep(scrape, line, (size_t)(after - line), value);
    free(others);
}

static void read_line(struct scrape *scrape, const char *line)
{
    if (strncmp(line, "# HELP ", 7) == 0)
        read_help(scrape, line);
    else if (strncmp(line, "# TYPE ", 7) == 0)
        read_type(scrape, line);
    else
        read_sample(scrape, line);
}

struct scrape *scrape_read(const char *text, size_t size)
{
    struct scrape *scrape = calloc(1, sizeof *scrape);
    if (!size || text[size - 1] != '\n' || memchr(text, 0, size))
        support_fail("the text does not end with a line's end, or has a zero byte");
    while (size) {
        size_t length = (size_t)((const char *)memchr(text, '\n', size) - text);
        char *line = strndup(text, length);
        read_line(scrape, line);
        free(line);
        text += length + 1;
        size -= length + 1;
    }
    if (scrape->family.labels)
        support_fail("the last histogram has no count");
    return scrape;
}

void scrape_free(struct scrape *scrape)
{
    for (size_t i = 0; i < scrape->count; i++)
        free(scrape->series[i].text);
    free(scrape->series);
    free(scrape->families);
    free(scrape->family.labels);
    free(scrape);
}

double scrape_value(const struct scrape *scrape, const char *series)
{
    for (size_t i = 0; i < scrape->count; i++)
        if (strcmp(scrape->series[i].text, series) == 0)
            return scrape->series[i].value;
    return -1;
}

size_t scrape_mentions(const struct scrape *scrape, const char *text)
{
    size_t result = 0;
    for (size_t i = 0; i < scrape->count; i++)
        if (strstr(scrape->series[i].text, text))
            result++;
    return result;
}
