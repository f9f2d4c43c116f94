// Tokens by command: the first one can only be made so, and whoever may reach the database may make more.
#include "token_command.h"

#include "base/duration.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "options.h"
#include "security/token.h"
#include "store/embedded.h"
#include "store/migrate.h"

#include <libpq-fe.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct session {
    struct embedded *embedded; // started for this command; NULL when a server was there
    char visited[256];
    PGconn *pg;
};

static int complain(const char *what)
{
    fprintf(stderr, "holdfast: %s\n", what);
    return 1;
}

// --- the database
// -----------------------------------------------------------------------------------------------------

static const char *find_database(struct session *session, const struct options *options, char *error,
                                 size_t error_size)
{
    if (options->database)
        return options_session_database(options);
    if (embedded_visit(options->data, session->visited, sizeof session->visited) &&
        PQping(session->visited) == PQPING_OK)
        return session->visited;
    bool there = embedded_exists(options->data);
    session->embedded = embedded_start(options->data, error, error_size);
    if (!session->embedded)
        return NULL;
    if (!there)
        fprintf(stderr,
                "holdfast: there was no database in %s, so a new one was made: a service on another folder "
                "or with "
                "--database does not know what is in it\n",
                options->data);
    return embedded_connection(session->embedded);
}

static bool session_open(struct session *session, const struct options *options)
{
    char error[1024];
    const char *connection = find_database(session, options, error, sizeof error);
    if (!connection || !migrate(connection, error, sizeof error)) {
        complain(error);
        return false;
    }
    session->pg = PQconnectdb(connection);
    if (PQstatus(session->pg) == CONNECTION_OK && PQsetClientEncoding(session->pg, "UTF8") == 0)
        return true;
    fprintf(stderr, "holdfast: cannot connect to the database: %s", PQerrorMessage(session->pg));
    return false;
}

static void session_close(struct session *session)
{
    PQfinish(session->pg);
    embedded_stop(session->embedded);
}

// NULL, with the database's word written, when it fails.
static PGresult *ask(struct session *session, const char *sql, int count, const char *const *values)
{
    PGresult *result = PQexecParams(session->pg, sql, count, NULL, values, NULL, NULL, 0);
    if (PQresultStatus(result) == PGRES_TUPLES_OK)
        return result;
    fprintf(stderr, "holdfast: %s", PQresultErrorMessage(result));
    PQclear(result);
    return NULL;
}

// --- create
// -----------------------------------------------------------------------------------------------------------

struct wish {
    struct buffer grants;
    char ttl[24]; // empty: none
    char until[TIMESTAMP_SIZE];
};

static int refuse_option(const char *option, const char *reason)
{
    fprintf(stderr, "holdfast: bad value for %s: %s\n", option, reason);
    return 2;
}

static int read_expiry(const char *text, struct wish *wish)
{
    int64_t us;
    if (!text)
        return 0;
    if (duration_parse(bytes_of(text), &us))
        snprintf(wish->ttl, sizeof wish->ttl, "%lld", (long long)us);
    else if (timestamp_parse(bytes_of(text), &us))
        timestamp_format(us, wish->until);
    else
        return refuse_option("--expires", "a duration (30d) or a time (2030-01-01T00:00:00Z) is wanted");
    return 0;
}

static int read_grants(const struct options *options, struct wish *wish)
{
    struct bytes texts[OPTIONS_TEXTS], wrong;
    const char *reason;
    for (int i = 0; i < options->grants.count; i++)
        texts[i] = bytes_of(options->grants.texts[i]);
    if (token_grants_write(&wish->grants, texts, (size_t)options->grants.count, &wrong, &reason))
        return 0;
    return refuse_option("--grant", reason);
}

static int read_wish(const struct options *options, struct wish *wish)
{
    const char *reason;
    if (!options->name || !token_name_check(bytes_of(options->name), &reason))
        return refuse_option("--name",
                             "a token's name is 1 to 128 bytes of UTF-8 without control characters");
    if (options->prefix && !token_prefix_check(bytes_of(options->prefix), &reason))
        return refuse_option("--prefix", reason);
    int code = read_grants(options, wish);
    buffer_add_char(&wish->grants, 0);
    return code ? code : read_expiry(options->expires, wish);
}

static int keep_token(struct session *session, const struct options *options, const struct wish *wish,
                      const struct token_mint *mint)
{
    char key[3 + 2 * TOKEN_KEY] = "\\x", hash[3 + 2 * TOKEN_HASH] = "\\x";
    sodium_bin2hex(key + 2, sizeof key - 2, mint->key, TOKEN_KEY);
    sodium_bin2hex(hash + 2, sizeof hash - 2, mint->hash, TOKEN_HASH);
    const char *values[] = {
        mint->id, options->name, options->prefix ? options->prefix : "", (const char *)wish->grants.data,
        key,      hash,          *wish->ttl ? wish->ttl : NULL,          *wish->until ? wish->until : NULL};
    PGresult *result =
        ask(session, "select status from holdfast.create_token($1, $2, $3, $4, $5, $6, $7, $8)", 8, values);
    if (!result)
        return 1;
    char status = PQgetvalue(result, 0, 0)[0];
    PQclear(result);
    return status == '0'   ? 0
           : status == '1' ? complain("there is a token of this name: revoke it first, or take another name")
                           : complain("the token would be expired already");
}

static int make_token(struct session *session, const struct options *options, const struct wish *wish)
{
    struct token_mint mint;
    token_mint(&mint);
    int code = keep_token(session, options, wish, &mint);
    if (!code) {
        puts(mint.text);
        fputs("This is the only time the token is shown.\n", stderr);
    }
    token_mint_forget(&mint);
    return code;
}

static int create(struct session *session, const struct options *options)
{
    struct wish wish = {0};
    int code = read_wish(options, &wish);
    if (!code)
        code = session_open(session, options) ? make_token(session, options, &wish) : 1;
    buffer_free(&wish.grants);
    return code;
}

// --- list and revoke
// --------------------------------------------------------------------------------------------------

static int list(struct session *session, const struct options *options)
{
    PGresult *result =
        session_open(session, options)
            ? ask(session,
                  "select name, id, coalesce(nullif(prefix, ''), '-'), to_char(created_at at time zone "
                  "'UTC', "
                  "'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), coalesce(to_char(expires_at at time zone 'UTC', "
                  "'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), 'never'), replace(grants, E'\\n', ' ') "
                  "from holdfast.list_tokens(null, null)",
                  0, NULL)
            : NULL;
    if (!result)
        return 1;
    puts("name\tid\tprefix\tcreated\texpires\tgrants");
    for (int row = 0; row < PQntuples(result); row++)
        for (int column = 0; column < 6; column++)
            printf("%s%c", PQgetvalue(result, row, column), column < 5 ? '\t' : '\n');
    PQclear(result);
    return 0;
}

static int revoke(struct session *session, const struct options *options)
{
    if (!options->name)
        return refuse_option("--name", "say which token: holdfast token revoke NAME");
    const char *values[] = {options->name};
    PGresult *result =
        session_open(session, options) ? ask(session, "select holdfast.revoke_token($1)", 1, values) : NULL;
    if (!result)
        return 1;
    bool revoked = PQgetvalue(result, 0, 0)[0] == 't';
    PQclear(result);
    return revoked ? 0 : complain("there is no token of this name");
}

// --- which
// ------------------------------------------------------------------------------------------------------------

static const char help[] = "holdfast token: says who may use the service.\n"
                           "\n"
                           "  holdfast token create --name NAME --grant GRANT… [--expires DURATION|TIME]\n"
                           "  holdfast token list\n"
                           "  holdfast token revoke NAME\n"
                           "\n"
                           "holdfast token create --help says more.\n";

static const struct {
    const char *name;
    enum options_command command;
    int (*run)(struct session *session, const struct options *options);
} commands[] = {
    {"create", OPTIONS_TOKEN_CREATE, create},
    {"list", OPTIONS_TOKEN_LIST, list},
    {"revoke", OPTIONS_TOKEN_REVOKE, revoke},
};

static int run(int which, int argc, char **argv)
{
    struct options options;
    struct session session = {0};
    const char *name = NULL;
    int first = 3;
    if (commands[which].command == OPTIONS_TOKEN_REVOKE && argc > 3 && argv[3][0] != '-')
        name = argv[first++];
    enum options_verdict verdict = options_read(commands[which].command, argc, argv, first, &options);
    if (verdict != OPTIONS_OK)
        return verdict == OPTIONS_HELP ? 0 : 2;
    log_set_level(options.log_level);
    if (name)
        options.name = name;
    int code = commands[which].run(&session, &options);
    session_close(&session);
    return code;
}

int token_command(int argc, char **argv)
{
    const char *word = argc > 2 ? argv[2] : "";
    for (int i = 0; i < (int)(sizeof commands / sizeof commands[0]); i++)
        if (!strcmp(word, commands[i].name))
            return run(i, argc, argv);
    if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
        fputs(help, stdout);
        return 0;
    }
    fprintf(stderr,
            "holdfast: token create, token list or token revoke is wanted (see holdfast token --help)\n");
    return 2;
}
