// One row an option: its flag, who takes it, how it is read, what it is by default and what it does.
#include "options.h"

#include "option_values.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TOKEN = OPTIONS_TOKEN_CREATE | OPTIONS_TOKEN_LIST | OPTIONS_TOKEN_REVOKE,
    ALL = OPTIONS_SERVE | OPTIONS_MIGRATE | TOKEN | OPTIONS_KEY_ROTATE,
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

#define FIELD(name) offsetof(struct options, name)

static const struct option_row rows[] = {
    {"listen", "ADDRESS:PORT", "127.0.0.1:7070", OPTIONS_SERVE, option_listen, FIELD(listen),
     "where to listen; port 0 takes a free one"},
    {"database", "URL", NULL, ALL, option_database, FIELD(database),
     "a PostgreSQL server of yours (postgresql://…); without it a private one is started"},
    {"listen-database", "URL", NULL, ALL, option_database, FIELD(listen_database),
     "the server's own address, when --database leads through a pooler, for what needs a session"},
    {"data", "FOLDER", "./holdfast-data", ALL, option_text, FIELD(data),
     "where the private PostgreSQL lives"},
    {"key-file", "PATH", NULL, OPTIONS_SERVE | OPTIONS_KEY_ROTATE, option_text, FIELD(key_file),
     "keys that values are sealed with: a file, or a folder of them (see holdfast key --help)"},
    {"workers", "N", "1", OPTIONS_SERVE, option_workers, FIELD(workers), "threads that serve"},
    {"no-migrate", NULL, "false", OPTIONS_SERVE, option_switch, FIELD(no_migrate),
     "do not bring the schema up to date at start"},
    {"grant-to", "ROLE", NULL, OPTIONS_MIGRATE, option_text, FIELD(grant_to),
     "let this role of the database serve: it reads, writes and calls, and owns nothing"},
    {"declared-buckets-only", NULL, "false", OPTIONS_SERVE, option_switch, FIELD(declared_buckets_only),
     "a write to a bucket that is not declared is 404"},
    {"insecure", NULL, "false", OPTIONS_SERVE, option_switch, FIELD(insecure),
     "listen beyond loopback without a token in the database"},
    {"tls-cert", "FILE", NULL, OPTIONS_SERVE, option_text, FIELD(tls_certificate),
     "serve HTTPS with this certificate (PEM, its chain behind it), read again on SIGHUP"},
    {"tls-key", "FILE", NULL, OPTIONS_SERVE, option_text, FIELD(tls_key),
     "the certificate's private key (PEM)"},
    {"tls-client-ca", "FILE", NULL, OPTIONS_SERVE, option_text, FIELD(tls_client_authorities),
     "serve only clients that show a certificate of one of these authorities (PEM)"},
    {"metrics", NULL, "false", OPTIONS_SERVE, option_switch, FIELD(metrics),
     "tell whoever asks GET /metrics, without a token, what Prometheus wants to know"},
    {"slow", "DURATION", "1s", OPTIONS_SERVE, option_duration_or_none, FIELD(slow),
     "log requests and database calls that take longer, as slow_request and slow_call; 0 for none"},
    {"log-level", "LEVEL", "info", ALL, option_level, FIELD(log_level), "debug, info, warn, error or off"},
    {"drain", "DURATION", "0", OPTIONS_SERVE, option_duration_or_none, FIELD(drain),
     "after SIGTERM, how long new requests are still served while /readyz says 503"},
    {"max-connections", "N", "20000", OPTIONS_SERVE, option_connections, FIELD(max_connections),
     "clients at once; lowered to what the limit of open files allows"},
    {"max-body-memory", "BYTES", "512m", OPTIONS_SERVE, option_body_memory, FIELD(max_body_memory),
     "memory for bodies that come in or are worked on, at least 64m a worker; beyond it 503"},
    {"max-connections-per-address", "N", "0", OPTIONS_SERVE, option_connections_or_none,
     FIELD(max_connections_per_address),
     "of them from one address (one /64 of IPv6); 0 for no limit, as behind a proxy"},
    {"max-waits", "N", "20000", OPTIONS_SERVE, option_connections, FIELD(max_waits),
     "requests at once that wait for what others do; beyond it 503"},
    {"max-waits-per-token", "N", "10000", OPTIONS_SERVE, option_connections, FIELD(max_waits_per_token),
     "of them with one token"},
    {"cors-origin", "ORIGINS", NULL, OPTIONS_SERVE, option_origins, FIELD(cors_origins),
     "let pages of these origins use the service: a list with commas, or *"},
    {"no-ui", NULL, "false", OPTIONS_SERVE, option_switch, FIELD(no_ui), "do not serve the console, /ui"},
    {"no-busy-poll", NULL, "false", OPTIONS_SERVE, option_switch, FIELD(no_busy_poll),
     "when few requests come, sleep between them at once; else a worker stays awake for some 100 "
     "microseconds"},
    {"idle-timeout", "DURATION", "60s", OPTIONS_SERVE, option_duration, FIELD(idle_timeout),
     "how long a connection may be silent"},
    {"header-timeout", "DURATION", "10s", OPTIONS_SERVE, option_duration, FIELD(header_timeout),
     "how long a request's header section may take"},
    {"body-timeout", "DURATION", "30s", OPTIONS_SERVE, option_duration, FIELD(body_timeout),
     "how long a body may take, beside a second for each 16 KiB"},
    {"database-timeout", "DURATION", "10s", OPTIONS_SERVE, option_duration, FIELD(database_timeout),
     "after how long a silent database connection counts as broken"},
    {"max-lease-ttl", "DURATION", "1d", OPTIONS_SERVE, option_lease_ttl, FIELD(max_lease_ttl),
     "the longest term that a lease is granted; at least 100ms"},
    {"name", "NAME", NULL, OPTIONS_TOKEN_CREATE | OPTIONS_TOKEN_REVOKE, option_text, FIELD(name),
     "what the token is called, in lists and logs"},
    {"grant", "GRANT", NULL, OPTIONS_TOKEN_CREATE, option_another, FIELD(grants),
     "what it may do, as often as needed: write:app, read:app*, write:app/under=t-7, write:counters:*, "
     "admin:*"},
    {"expires", "DURATION|TIME", NULL, OPTIONS_TOKEN_CREATE, option_text, FIELD(expires),
     "when it ends; without it never"},
    {"prefix", "PREFIX", NULL, OPTIONS_TOKEN_CREATE, option_text, FIELD(prefix),
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
