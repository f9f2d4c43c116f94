// One row a flag: to which commands it belongs, how it is read and what it says, for the help, the completion
// of shells and the manual alike.
#include "client/arguments.h"

#include "base/duration.h"
#include "base/text.h"
#include "client/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GET = COMMAND_GET,
    PUT = COMMAND_PUT,
    WRITE = COMMAND_PUT | COMMAND_DELETE,
    ENTRY = COMMAND_GET | WRITE | COMMAND_WATCH,
    LOCK = COMMAND_LOCK,
    PLACE = ENTRY | COMMAND_LEASE | COMMAND_LOCK | COMMAND_ONCE,
    MANY = COMMAND_DUMP | COMMAND_LOAD | COMMAND_BENCH,
    REQUEST = PLACE | COMMAND_LIST | MANY,
};

struct row {
    const char *name;
    const char *takes;    // NULL for a switch
    const char *variable; // of the environment; NULL: none
    const char *standard; // NULL: none
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

static bool read_another(const char *text, void *field)
{
    struct argument_texts *all = field;
    if (all->count == ARGUMENTS_TEXTS)
        return false;
    all->texts[all->count++] = text;
    return *text != 0;
}

static bool read_switch(const char *text, void *field)
{
    (void)text;
    return *(bool *)field = true;
}

static bool read_output(const char *text, void *field)
{
    *(bool *)field = !strcmp(text, "json");
    return *(bool *)field || !strcmp(text, "text");
}

static bool read_duration(const char *text, void *field)
{
    return duration_parse(bytes_of(text), field);
}

static bool read_wait(const char *text, void *field)
{
    *(int64_t *)field = DURATION_MAX_US;
    return !strcmp(text, "forever") || read_duration(text, field);
}

static bool read_count(const char *text, void *field)
{
    return text_int64(bytes_of(text), field) && *(int64_t *)field >= 1;
}

static bool read_jobs(const char *text, void *field)
{
    return read_count(text, field) && *(int64_t *)field <= 1024;
}

static bool read_keys(const char *text, void *field)
{
    return read_count(text, field) && *(int64_t *)field <= 10 * 1000 * 1000;
}

static bool read_percent(const char *text, void *field)
{
    return text_int64(bytes_of(text), field) && *(int64_t *)field >= 0 && *(int64_t *)field <= 100;
}

static bool read_size(const char *text, void *field)
{
    return read_count(text, field) && *(int64_t *)field <= 1 << 20;
}

// What a flag that was given something else wants.
static const char *wanted(const struct row *row)
{
    static const struct {
        bool (*read)(const char *text, void *field);
        const char *form;
    } forms[] = {{read_output, "text or json"},
                 {read_duration, "a number and a unit, such as 500ms, 30s or 15m"},
                 {read_wait, "a number and a unit, such as 30s or 15m, or forever"},
                 {read_count, "a number from 1 on"},
                 {read_jobs, "a number from 1 to 1024"},
                 {read_keys, "a number from 1 to 10000000"},
                 {read_percent, "a number from 0 to 100"},
                 {read_size, "a number from 1 to 1048576"}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (forms[i].read == row->read)
            return forms[i].form;
    return row->takes;
}

#define FIELD(name) offsetof(struct arguments, name)

static const struct row rows[] = {
    {"bucket", "NAME", NULL, NULL, ENTRY | COMMAND_LEASE | LOCK | COMMAND_LIST, read_text, FIELD(bucket),
     "the bucket, so that what stands alone is the key, slashes and all"},
    {"under", "OWNER", NULL, NULL, PLACE | COMMAND_LIST, read_another, FIELD(under),
     "the branch that it lies in, outermost owner first; as often as needed"},
    {"key-base64", NULL, NULL, NULL, PLACE, read_switch, FIELD(key_base64), "the key is given in base64"},
    {"fork", "ID", NULL, NULL, ENTRY | COMMAND_LIST, read_text, FIELD(fork),
     "read or write through this fork"},
    {"file", "FILE", NULL, NULL, PUT, read_text, FIELD(file),
     "the value is this file's content; - for standard input"},
    {"content-type", "TYPE", NULL, NULL, PUT | COMMAND_ONCE, read_text, FIELD(content_type),
     "what the value is, such as application/json"},
    {"meta", "NAME=VALUE", NULL, NULL, PUT, read_another, FIELD(metadata),
     "metadata that is kept with the value; as often as needed"},
    {"ttl", "DURATION", NULL, NULL, PUT, read_text, FIELD(ttl), "the entry expires so much later: 15m, 30d"},
    {"ttl", "DURATION", NULL, "30s", COMMAND_LEASE | LOCK | COMMAND_ONCE, read_text, FIELD(ttl),
     "the term: how long nobody else has it if nothing is heard from us"},
    {"expires-at", "TIME", NULL, NULL, PUT, read_text, FIELD(expires_at),
     "the entry expires then: 2026-01-31T23:59:59Z"},
    {"persist", NULL, NULL, NULL, PUT, read_switch, FIELD(persist), "the entry never expires"},
    {"if-match", "VERSION", NULL, NULL, WRITE, read_text, FIELD(if_match),
     "only if the entry still has this version; * for any"},
    {"if-absent", NULL, NULL, NULL, PUT, read_switch, FIELD(if_absent), "only if there is no entry yet"},
    {"fenced", NULL, NULL, NULL, WRITE, read_switch, FIELD(fenced),
     "only while the lease of the holdfast lock that runs this is live; takes --if-match or --if-absent too"},
    {"idempotency-key", "KEY", NULL, NULL, WRITE, read_text, FIELD(idempotency_key),
     "however often this is sent, it is done once"},
    {"start", "KEY", NULL, NULL, COMMAND_LIST, read_text, FIELD(start), "from this key on"},
    {"end", "KEY", NULL, NULL, COMMAND_LIST, read_text, FIELD(end), "up to this key, without it"},
    {"contains", "TEXT", NULL, NULL, COMMAND_LIST, read_text, FIELD(contains), "only keys with this in them"},
    {"limit", "N", NULL, NULL, COMMAND_LIST, read_count, FIELD(limit), "at most so many"},
    {"values", NULL, NULL, NULL, COMMAND_LIST, read_switch, FIELD(values), "with -o json: the values too"},
    {"null", NULL, NULL, NULL, COMMAND_LIST, read_switch, FIELD(null),
     "end each line with a zero byte, for keys with line breaks"},
    {"count", "N", NULL, NULL, COMMAND_WATCH, read_count, FIELD(count), "end after so many changes"},
    {"wait", "DURATION", NULL, NULL, GET, read_wait, FIELD(wait),
     "wait so long for an entry that is absent to appear"},
    {"wait", "DURATION", NULL, NULL, COMMAND_WATCH, read_wait, FIELD(wait),
     "end after so long, with exit code 5"},
    {"wait", "DURATION", NULL, NULL, COMMAND_LEASE | LOCK | COMMAND_ONCE, read_wait, FIELD(wait),
     "wait so long while another has it, first come, first served; or: forever"},
    {"holder", "NAME", NULL, NULL, COMMAND_LEASE | LOCK, read_text, FIELD(holder),
     "who holds it, for others to see; without it host name and process"},
    {"token", "TOKEN", NULL, NULL, COMMAND_LEASE, read_text, FIELD(token),
     "which grant is meant: what acquire printed"},
    {"grace", "DURATION", NULL, NULL, LOCK | COMMAND_ONCE, read_duration, FIELD(grace),
     "how long before the end of a term that is not renewed the command is told (SIGTERM) before it is ended "
     "(SIGKILL); without it a third of the term, at most 10s"},
    {"forget", NULL, NULL, NULL, COMMAND_ONCE, read_switch, FIELD(forget), "forget the answer that is kept"},
    {"file", "FILE", NULL, NULL, COMMAND_DUMP, read_text, FIELD(file),
     "write to this file instead of standard output"},
    {"resume", NULL, NULL, NULL, COMMAND_DUMP, read_switch, FIELD(resumes),
     "go on with the file's dump, which broke off"},
    {"state", "FILE", NULL, NULL, COMMAND_LOAD, read_text, FIELD(state),
     "keep in this file how far the load is, and go on from there"},
    {"jobs", "N", NULL, "4", COMMAND_LOAD, read_jobs, FIELD(jobs), "transactions at once"},
    {"connections", "N", NULL, "16", COMMAND_BENCH, read_jobs, FIELD(jobs), "clients at once"},
    {"duration", "DURATION", NULL, "10s", COMMAND_BENCH, read_duration, FIELD(duration), "how long"},
    {"reads", "PERCENT", NULL, "90", COMMAND_BENCH, read_percent, FIELD(reads),
     "of the requests, the rest writes"},
    {"keys", "N", NULL, "10000", COMMAND_BENCH, read_keys, FIELD(keys), "different keys"},
    {"size", "BYTES", NULL, "200", COMMAND_BENCH, read_size, FIELD(size), "of a value"},
    {"output", "FORM", NULL, NULL, PLACE | COMMAND_LIST | COMMAND_BENCH, read_output, FIELD(json),
     "text or json; also -o"},
    {"url", "URL", "HOLDFAST_URL", "http://127.0.0.1:7070", REQUEST, read_text, FIELD(urls),
     "where the service is; several with commas: the next is tried when one does not answer"},
    {"ca-file", "FILE", "HOLDFAST_CA_FILE", NULL, REQUEST, read_text, FIELD(ca_file),
     "the authorities that the service's certificate may be of (PEM)"},
    {"cert", "FILE", "HOLDFAST_CERT", NULL, REQUEST, read_text, FIELD(cert), "a certificate to show (PEM)"},
    {"cert-key", "FILE", "HOLDFAST_CERT_KEY", NULL, REQUEST, read_text, FIELD(cert_key),
     "its private key (PEM)"},
    {"timeout", "DURATION", "HOLDFAST_TIMEOUT", "30s", REQUEST, read_duration, FIELD(timeout),
     "how long an answer may take, beside what is waited for"},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static void print_help(const struct command *command)
{
    printf("usage: holdfast %s %s\n\n%s\nFlags:\n", command->name, command->synopsis, command->help);
    for (int i = 0; i < ROWS; i++) {
        if (!(rows[i].commands & command->bit))
            continue;
        char flag[64];
        snprintf(flag, sizeof flag, "--%s%s%s", rows[i].name, rows[i].takes ? " " : "",
                 rows[i].takes ? rows[i].takes : "");
        printf("  %-26s %s\n", flag, rows[i].help);
        if (rows[i].variable || rows[i].standard)
            printf("  %-26s [%s%s%s%s]\n", "", rows[i].variable ? rows[i].variable : "",
                   rows[i].variable && rows[i].standard ? ", " : "", rows[i].standard ? "default " : "",
                   rows[i].standard ? rows[i].standard : "");
    }
    printf("  %-26s this text\n\n%s", "--help", command_codes);
}

bool arguments_next_flag(const struct command *command, int *at, struct flag *flag)
{
    while (*at < ROWS && !(rows[*at].commands & command->bit))
        ++*at;
    if (*at == ROWS)
        return false;
    *flag = (struct flag){rows[*at].name, rows[*at].takes, rows[*at].help};
    ++*at;
    return true;
}

static enum arguments_verdict complain(const char *what, const char *name)
{
    fprintf(stderr, "holdfast: %s%s%s\n", what, name ? " " : "", name ? name : "");
    return ARGUMENTS_BAD;
}

static void *field_of(struct arguments *arguments, const struct row *row)
{
    return (char *)arguments + row->field;
}

static enum arguments_verdict read_environment(const struct command *command, struct arguments *arguments)
{
    for (int i = 0; i < ROWS; i++) {
        const char *text = rows[i].variable ? getenv(rows[i].variable) : NULL;
        if (!(rows[i].commands & command->bit))
            continue;
        if (rows[i].standard)
            rows[i].read(rows[i].standard, field_of(arguments, &rows[i]));
        if (text && *text && !rows[i].read(text, field_of(arguments, &rows[i]))) {
            fprintf(stderr, "holdfast: bad value in %s: it takes %s\n", rows[i].variable, wanted(&rows[i]));
            return ARGUMENTS_BAD;
        }
    }
    return ARGUMENTS_OK;
}

static const struct row *find_row(const struct command *command, const char *name, size_t size)
{
    for (int i = 0; i < ROWS; i++)
        if ((rows[i].commands & command->bit) && strlen(rows[i].name) == size &&
            !memcmp(rows[i].name, name, size))
            return &rows[i];
    return NULL;
}

static enum arguments_verdict read_flag(const struct command *command, int argc, char **argv, int *at,
                                        struct arguments *arguments)
{
    const char *argument = argv[*at];
    bool is_short = !strcmp(argument, "-o");
    const char *name = is_short ? "output" : argument + 2;
    const char *equals = is_short ? NULL : strchr(name, '=');
    const struct row *row = is_short || argument[1] == '-'
                                ? find_row(command, name, equals ? (size_t)(equals - name) : strlen(name))
                                : NULL;
    if (!row) {
        fprintf(stderr, "holdfast: %s has no option %.*s (see holdfast %s --help)\n", command->name,
                (int)strcspn(argument, "="), argument, command->name);
        return ARGUMENTS_BAD;
    }
    const char *value = equals ? equals + 1 : NULL;
    if (equals && !row->takes)
        return complain("no value is taken by", argument);
    if (!value && row->takes) {
        if (*at + 1 >= argc)
            return complain("a value is missing after", argument);
        value = argv[++*at];
    }
    if (row->read(value ? value : "", field_of(arguments, row)))
        return ARGUMENTS_OK;
    fprintf(stderr, "holdfast: bad value for --%s: it takes %s\n", row->name, wanted(row));
    return ARGUMENTS_BAD;
}

static enum arguments_verdict read_alone(const struct command *command, const char *text,
                                         struct arguments *arguments)
{
    if (arguments->alone_count == command->most)
        return complain("unexpected argument", text);
    arguments->alone[arguments->alone_count++] = text;
    return ARGUMENTS_OK;
}

static enum arguments_verdict read_argument(const struct command *command, int argc, char **argv, int *at,
                                            struct arguments *arguments)
{
    const char *argument = argv[*at];
    if (!strcmp(argument, "--help") || !strcmp(argument, "-h")) {
        print_help(command);
        return ARGUMENTS_HELP;
    }
    if (argument[0] == '-' && argument[1])
        return read_flag(command, argc, argv, at, arguments);
    return read_alone(command, argument, arguments);
}

// What follows `--`: a command, or, where none is run, names and values that begin with a dash.
static enum arguments_verdict read_rest(const struct command *command, char **rest,
                                        struct arguments *arguments)
{
    enum arguments_verdict verdict = ARGUMENTS_OK;
    if (command->runs) {
        arguments->command = *rest ? rest : NULL;
        return *rest ? ARGUMENTS_OK : complain("a command is missing behind --", NULL);
    }
    for (; *rest && verdict == ARGUMENTS_OK; rest++)
        verdict = read_alone(command, *rest, arguments);
    return verdict;
}

enum arguments_verdict arguments_read(const struct command *command, int argc, char **argv,
                                      struct arguments *arguments)
{
    *arguments = (struct arguments){0};
    enum arguments_verdict verdict = read_environment(command, arguments);
    int i = 2;
    for (; i < argc && verdict == ARGUMENTS_OK && strcmp(argv[i], "--") != 0; i++)
        verdict = read_argument(command, argc, argv, &i, arguments);
    if (verdict == ARGUMENTS_OK && i < argc)
        verdict = read_rest(command, argv + i + 1, arguments);
    if (verdict != ARGUMENTS_OK)
        return verdict;
    bool named = arguments->bucket && command->least > 0 && (command->bit & COMMAND_LIST);
    if (arguments->alone_count >= command->least || named)
        return ARGUMENTS_OK;
    fprintf(stderr, "holdfast: %s takes %s (see holdfast %s --help)\n", command->name, command->synopsis,
            command->name);
    return ARGUMENTS_BAD;
}
