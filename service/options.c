// One row an option: its flag, who takes it, how it is read, what it is by default and what it does.
#include "options.h"

#include "base/duration.h"
#include "base/text.h"
#include "store/reach.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TOKEN = OPTIONS_TOKEN_CREATE | OPTIONS_TOKEN_LIST | OPTIONS_TOKEN_REVOKE,
    ALL = OPTIONS_SERVE | OPTIONS_MIGRATE | TOKEN | OPTIONS_KEY_ROTATE,
    SHORTEST_LEASE = 100 * 1000,
};

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

static bool read_database(const char *text, void *field)
{
    *(const char **)field = text;
    return *text && reach_reads(text);
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

static bool read_another(const char *text, void *field)
{
    struct option_texts *all = field;
    if (all->count == OPTIONS_TEXTS)
        return false;
    all->texts[all->count++] = text;
    return *text != 0;
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

// A limit below the shortest lease would grant none.
static bool read_lease_ttl(const char *text, void *field)
{
    return read_duration(text, field) && *(int64_t *)field >= SHORTEST_LEASE;
}

static bool read_number(const char *text, int64_t most, int64_t *n)
{
    return text_int64(bytes_of(text), n) && *n >= 1 && *n <= most;
}

// Bytes, or KiB, MiB, GiB with k, m, g behind.
static bool read_size(const char *text, void *field)
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
static bool read_body_memory(const char *text, void *field)
{
    return read_size(text, field) && *(size_t *)field >= OPTIONS_LEAST_BODY_MEMORY;
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

static bool read_connections_or_none(const char *text, void *field)
{
    *(unsigned *)field = 0;
    return !strcmp(text, "0") || read_connections(text, field);
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

static bool read_origins(const char *text, void *field)
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

#define FIELD(name) offsetof(struct options, name)

static const struct option_row rows[] = {
    {"listen", "ADDRESS:PORT", "127.0.0.1:7070", OPTIONS_SERVE, read_listen, FIELD(listen),
     "where to listen; port 0 takes a free one"},
    {"database", "URL", NULL, ALL, read_database, FIELD(database),
     "a PostgreSQL server of yours (postgresql://…); without it a private one is started"},
    {"listen-database", "URL", NULL, ALL, read_database, FIELD(listen_database),
     "the server's own address, when --database leads through a pooler, for what needs a session"},
    {"data", "FOLDER", "./holdfast-data", ALL, read_text, FIELD(data), "where the private PostgreSQL lives"},
    {"key-file", "PATH", NULL, OPTIONS_SERVE | OPTIONS_KEY_ROTATE, read_text, FIELD(key_file),
     "keys that values are sealed with: a file, or a folder of them (see holdfast key --help)"},
    {"workers", "N", "1", OPTIONS_SERVE, read_workers, FIELD(workers), "threads that serve"},
    {"no-migrate", NULL, "false", OPTIONS_SERVE, read_switch, FIELD(no_migrate),
     "do not bring the schema up to date at start"},
    {"grant-to", "ROLE", NULL, OPTIONS_MIGRATE, read_text, FIELD(grant_to),
     "let this role of the database serve: it reads, writes and calls, and owns nothing"},
    {"declared-buckets-only", NULL, "false", OPTIONS_SERVE, read_switch, FIELD(declared_buckets_only),
     "a write to a bucket that is not declared is 404"},
    {"insecure", NULL, "false", OPTIONS_SERVE, read_switch, FIELD(insecure),
     "listen beyond loopback without a token in the database"},
    {"tls-cert", "FILE", NULL, OPTIONS_SERVE, read_text, FIELD(tls_certificate),
     "serve HTTPS with this certificate (PEM, its chain behind it), read again on SIGHUP"},
    {"tls-key", "FILE", NULL, OPTIONS_SERVE, read_text, FIELD(tls_key),
     "the certificate's private key (PEM)"},
    {"tls-client-ca", "FILE", NULL, OPTIONS_SERVE, read_text, FIELD(tls_client_authorities),
     "serve only clients that show a certificate of one of these authorities (PEM)"},
    {"metrics", NULL, "false", OPTIONS_SERVE, read_switch, FIELD(metrics),
     "tell whoever asks GET /metrics, without a token, what Prometheus wants to know"},
    {"slow", "DURATION", "1s", OPTIONS_SERVE, read_duration_or_none, FIELD(slow),
     "log requests and database calls that take longer, as slow_request and slow_call; 0 for none"},
    {"log-level", "LEVEL", "info", ALL, read_level, FIELD(log_level), "debug, info, warn, error or off"},
    {"drain", "DURATION", "0", OPTIONS_SERVE, read_duration_or_none, FIELD(drain),
     "after SIGTERM, how long new requests are still served while /readyz says 503"},
    {"max-connections", "N", "20000", OPTIONS_SERVE, read_connections, FIELD(max_connections),
     "clients at once; lowered to what the limit of open files allows"},
    {"max-body-memory", "BYTES", "512m", OPTIONS_SERVE, read_body_memory, FIELD(max_body_memory),
     "memory for bodies that come in or are worked on, at least 64m a worker; beyond it 503"},
    {"max-connections-per-address", "N", "0", OPTIONS_SERVE, read_connections_or_none,
     FIELD(max_connections_per_address),
     "of them from one address (one /64 of IPv6); 0 for no limit, as behind a proxy"},
    {"max-waits", "N", "20000", OPTIONS_SERVE, read_connections, FIELD(max_waits),
     "requests at once that wait for what others do; beyond it 503"},
    {"max-waits-per-token", "N", "10000", OPTIONS_SERVE, read_connections, FIELD(max_waits_per_token),
     "of them with one token"},
    {"cors-origin", "ORIGINS", NULL, OPTIONS_SERVE, read_origins, FIELD(cors_origins),
     "let pages of these origins use the service: a list with commas, or *"},
    {"no-ui", NULL, "false", OPTIONS_SERVE, read_switch, FIELD(no_ui), "do not serve the console, /ui"},
    {"idle-timeout", "DURATION", "60s", OPTIONS_SERVE, read_duration, FIELD(idle_timeout),
     "how long a connection may be silent"},
    {"header-timeout", "DURATION", "10s", OPTIONS_SERVE, read_duration, FIELD(header_timeout),
     "how long a request's header section may take"},
    {"body-timeout", "DURATION", "30s", OPTIONS_SERVE, read_duration, FIELD(body_timeout),
     "how long a body may take, beside a second for each 16 KiB"},
    {"database-timeout", "DURATION", "10s", OPTIONS_SERVE, read_duration, FIELD(database_timeout),
     "after how long a silent database connection counts as broken"},
    {"max-lease-ttl", "DURATION", "1d", OPTIONS_SERVE, read_lease_ttl, FIELD(max_lease_ttl),
     "the longest term that a lease is granted; at least 100ms"},
    {"name", "NAME", NULL, OPTIONS_TOKEN_CREATE | OPTIONS_TOKEN_REVOKE, read_text, FIELD(name),
     "what the token is called, in lists and logs"},
    {"grant", "GRANT", NULL, OPTIONS_TOKEN_CREATE, read_another, FIELD(grants),
     "what it may do, as often as needed: write:app, read:app*, write:app/under=t-7, write:counters:*, "
     "admin:*"},
    {"expires", "DURATION|TIME", NULL, OPTIONS_TOKEN_CREATE, read_text, FIELD(expires),
     "when it ends; without it never"},
    {"prefix", "PREFIX", NULL, OPTIONS_TOKEN_CREATE, read_text, FIELD(prefix),
     "what all names in its requests begin with, unseen: a tenant"},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

// Only a flag, without a variable: it is about one call, not about a deployment.
static bool is_spoken(const struct option_row *row)
{
    return !(row->commands & ~(unsigned)(OPTIONS_TOKEN_CREATE | OPTIONS_TOKEN_REVOKE));
}

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
    static const struct {
        enum options_command command;
        const char *text;
    } heads[] = {
        {OPTIONS_SERVE, "holdfast serve: serves the HTTP interface until SIGTERM or SIGINT."},
        {OPTIONS_MIGRATE, "holdfast migrate: brings the database's schema up to date and ends."},
        {OPTIONS_TOKEN_CREATE, "holdfast token create: makes a token and prints it, this one time."},
        {OPTIONS_TOKEN_LIST, "holdfast token list: lists the tokens that were not revoked."},
        {OPTIONS_TOKEN_REVOKE, "holdfast token revoke NAME: ends a token on all replicas within a second."},
        {OPTIONS_KEY_ROTATE,
         "holdfast key rotate: has a running service seal everything with the current key."},
    };
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        if (heads[i].command == command)
            printf("%s\n\nOptions:\n", heads[i].text);
    for (int i = 0; i < ROWS; i++) {
        if (!(rows[i].commands & command))
            continue;
        char flag[64], variable[64];
        snprintf(flag, sizeof flag, "--%s%s%s", rows[i].name, rows[i].takes ? " " : "",
                 rows[i].takes ? rows[i].takes : "");
        variable_name(&rows[i], variable);
        if (is_spoken(&rows[i])) {
            printf("  %-36s %s\n", flag, rows[i].help);
            continue;
        }
        printf("  %-36s %s\n  %-36s [%s%s%s]\n", flag, rows[i].help, "", variable,
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
        if (!(rows[i].commands & command) || is_spoken(&rows[i]))
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

enum options_verdict options_read(enum options_command command, int argc, char **argv, int first,
                                  struct options *options)
{
    memset(options, 0, sizeof *options);
    enum options_verdict verdict = read_environment(command, options);
    for (int i = first; i < argc && verdict == OPTIONS_OK; i++)
        verdict = read_flag(command, argv, &i, argc, options);
    if (verdict == OPTIONS_OK && options->listen_database && !options->database)
        verdict = complain("--listen-database goes with", "--database", NULL);
    return verdict;
}
