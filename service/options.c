// One row an option: its flag, who takes it, how it is read, what it is by default and what it does.
#include "options.h"

#include "base/duration.h"
#include "base/text.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BOTH = OPTIONS_SERVE | OPTIONS_MIGRATE };

struct option_row {
    const char *name;  // of the flag, without --; the variable is HOLDFAST_ and this in capitals
    const char *takes; // NULL for a switch
    const char *standard;
    unsigned commands;
    bool (*read)(const char *text, void *field);
    size_t field;
    const char *help;
};

static bool read_text(const char *text, void *field)
{
    *(const char **)field = text;
    return *text != 0;
}

// ADDRESS:PORT, an IPv6 address in brackets. Whether the address exists is found out when it is listened on.
static bool read_listen(const char *text, void *field)
{
    const char *colon = strrchr(text, ':');
    int64_t port;
    *(const char **)field = text;
    if (!colon || colon == text || !text_int64(bytes_of(colon + 1), &port) || port < 0 || port > 65535)
        return false;
    return text[0] == '[' ? colon[-1] == ']' : memchr(text, ':', (size_t)(colon - text)) == NULL;
}

static bool read_switch(const char *text, void *field)
{
    bool on = !strcmp(text, "true") || !strcmp(text, "1") || !strcmp(text, "yes");
    bool off = !strcmp(text, "false") || !strcmp(text, "0") || !strcmp(text, "no") || !*text;
    *(bool *)field = on;
    return on || off;
}

static bool read_level(const char *text, void *field)
{
    return log_parse_level(text, field);
}

static bool read_duration(const char *text, void *field)
{
    return duration_parse(bytes_of(text), field);
}

// `0` switches a waiting off; elsewhere a duration of nothing is a mistake.
static bool read_duration_or_none(const char *text, void *field)
{
    if (!strcmp(text, "0")) {
        *(int64_t *)field = 0;
        return true;
    }
    return read_duration(text, field);
}

static bool read_number(const char *text, int64_t most, int64_t *n)
{
    return text_int64(bytes_of(text), n) && *n >= 1 && *n <= most;
}

static bool read_workers(const char *text, void *field)
{
    int64_t n;
    if (!read_number(text, 256, &n))
        return false;
    *(int *)field = (int)n;
    return true;
}

static bool read_connections(const char *text, void *field)
{
    int64_t n;
    if (!read_number(text, 1000000, &n))
        return false;
    *(unsigned *)field = (unsigned)n;
    return true;
}

#define FIELD(name) offsetof(struct options, name)

static const struct option_row rows[] = {
    {"listen", "ADDRESS:PORT", "127.0.0.1:7070", OPTIONS_SERVE, read_listen, FIELD(listen),
     "where to listen; port 0 takes a free one"},
    {"database", "URL", NULL, BOTH, read_text, FIELD(database),
     "a PostgreSQL server of yours (postgresql://…); without it a private one is started"},
    {"data", "FOLDER", "./holdfast-data", BOTH, read_text, FIELD(data), "where the private PostgreSQL lives"},
    {"workers", "N", "1", OPTIONS_SERVE, read_workers, FIELD(workers), "threads that serve"},
    {"no-migrate", NULL, "false", OPTIONS_SERVE, read_switch, FIELD(no_migrate),
     "do not bring the schema up to date at start"},
    {"declared-buckets-only", NULL, "false", OPTIONS_SERVE, read_switch, FIELD(declared_buckets_only),
     "a write to a bucket that is not declared is 404"},
    {"insecure", NULL, "false", OPTIONS_SERVE, read_switch, FIELD(insecure),
     "listen beyond loopback without authentication"},
    {"log-level", "LEVEL", "info", BOTH, read_level, FIELD(log_level), "debug, info, warn, error or off"},
    {"drain", "DURATION", "0", OPTIONS_SERVE, read_duration_or_none, FIELD(drain),
     "after SIGTERM, how long new requests are still served while /readyz says 503"},
    {"max-connections", "N", "20000", OPTIONS_SERVE, read_connections, FIELD(max_connections),
     "clients at once; lowered to what the limit of open files allows"},
    {"idle-timeout", "DURATION", "60s", OPTIONS_SERVE, read_duration, FIELD(idle_timeout),
     "how long a connection may be silent"},
    {"header-timeout", "DURATION", "10s", OPTIONS_SERVE, read_duration, FIELD(header_timeout),
     "how long a request's header section may take"},
    {"body-timeout", "DURATION", "30s", OPTIONS_SERVE, read_duration, FIELD(body_timeout),
     "how long a body may take, beside a second for each 16 KiB"},
    {"database-timeout", "DURATION", "10s", OPTIONS_SERVE, read_duration, FIELD(database_timeout),
     "after how long a silent database connection counts as broken"},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static void variable_name(const struct option_row *row, char out[64])
{
    int n = snprintf(out, 64, "HOLDFAST_%s", row->name);
    for (int i = 0; i < n; i++)
        out[i] = out[i] == '-' ? '_' : out[i] >= 'a' && out[i] <= 'z' ? (char)(out[i] - 32) : out[i];
}

static void *field_of(struct options *options, const struct option_row *row)
{
    return (char *)options + row->field;
}

static void print_help(enum options_command command)
{
    printf(command == OPTIONS_SERVE
               ? "holdfast serve: serves the HTTP interface until SIGTERM or SIGINT.\n\nOptions:\n"
               : "holdfast migrate: brings the database's schema up to date and ends.\n\nOptions:\n");
    for (int i = 0; i < ROWS; i++) {
        if (!(rows[i].commands & command))
            continue;
        char flag[64], variable[64];
        snprintf(flag, sizeof flag, "--%s%s%s", rows[i].name, rows[i].takes ? " " : "",
                 rows[i].takes ? rows[i].takes : "");
        variable_name(&rows[i], variable);
        printf("  %-28s %s\n  %-28s [%s%s%s]\n", flag, rows[i].help, "", variable,
               rows[i].takes && rows[i].standard ? ", default " : "",
               rows[i].takes && rows[i].standard ? rows[i].standard : "");
    }
}

static enum options_verdict complain(const char *what, const char *name, const char *value)
{
    fprintf(stderr, "holdfast: %s %s%s%s\n", what, name, value ? ": " : "", value ? value : "");
    return OPTIONS_BAD;
}

// The value itself is not shown: a database's address may hold a password.
static enum options_verdict refuse_value(const struct option_row *row)
{
    fprintf(stderr, "holdfast: bad value for --%s: it takes %s\n", row->name,
            row->takes ? row->takes : "true or false");
    return OPTIONS_BAD;
}

static enum options_verdict read_environment(enum options_command command, struct options *options)
{
    for (int i = 0; i < ROWS; i++) {
        if (!(rows[i].commands & command))
            continue;
        char variable[64];
        variable_name(&rows[i], variable);
        const char *text = getenv(variable);
        if (rows[i].standard && !rows[i].read(rows[i].standard, field_of(options, &rows[i])))
            return complain("bad default for", rows[i].name, rows[i].standard);
        // A database's address may hold a password: the value is never shown.
        if (text && *text && !rows[i].read(text, field_of(options, &rows[i])))
            return complain("bad value in", variable, NULL);
    }
    return OPTIONS_OK;
}

static const struct option_row *find_row(enum options_command command, const char *flag, size_t size)
{
    for (int i = 0; i < ROWS; i++)
        if ((rows[i].commands & command) && strlen(rows[i].name) == size && !memcmp(rows[i].name, flag, size))
            return &rows[i];
    return NULL;
}

static enum options_verdict read_flag(enum options_command command, char **argv, int *at, int argc,
                                      struct options *options)
{
    const char *argument = argv[*at];
    if (!strcmp(argument, "--help") || !strcmp(argument, "-h")) {
        print_help(command);
        return OPTIONS_HELP;
    }
    if (strncmp(argument, "--", 2) != 0)
        return complain("unexpected argument", argument, NULL);
    const char *equals = strchr(argument, '=');
    size_t size = equals ? (size_t)(equals - argument) - 2 : strlen(argument) - 2;
    const struct option_row *row = find_row(command, argument + 2, size);
    if (!row) {
        fprintf(stderr, "holdfast: there is no option --%.*s (see --help)\n", (int)size, argument + 2);
        return OPTIONS_BAD;
    }
    const char *value = equals ? equals + 1 : NULL;
    if (!value && row->takes) {
        if (*at + 1 >= argc)
            return complain("a value is missing after", argument, NULL);
        value = argv[++*at];
    }
    if (!row->read(value ? value : "true", field_of(options, row)))
        return refuse_value(row);
    return OPTIONS_OK;
}

enum options_verdict options_read(enum options_command command, int argc, char **argv,
                                  struct options *options)
{
    memset(options, 0, sizeof *options);
    enum options_verdict verdict = read_environment(command, options);
    for (int i = 2; i < argc && verdict == OPTIONS_OK; i++)
        verdict = read_flag(command, argv, &i, argc, options);
    return verdict;
}
