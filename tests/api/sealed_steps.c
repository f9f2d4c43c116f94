// The keys are made by the binary itself, as its users make them.
#include "sealed_steps.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *folder;

const char *sealed_folder(void)
{
    if (!folder)
        folder = scratch_folder("keys");
    return folder;
}

void make_key(const char *path)
{
    char *command = scratch_printf("'%s' key create --out '%s' >/dev/null", service_binary(), path);
    if (system(command) != 0)
        ck_abort_msg("no key was made in %s", path);
    free(command);
}

const char *const *sealed_flags(void)
{
    static const char *flags[3];
    if (!flags[0]) {
        char *key = scratch_printf("%s/1.key", sealed_folder());
        make_key(key);
        free(key);
        flags[0] = "--key-file";
        flags[1] = sealed_folder();
    }
    return flags;
}

const char *sealed_bucket(const char *type)
{
    const char *bucket = api_bucket();
    const char *body = TEXT("{\"type\":\"%s\",\"encrypted\":true}", type);
    ck_status(PUT(TEXT("/v1/buckets/%s", bucket), bytes_of(body)), 201);
    return bucket;
}

bool database_contains(PGconn *connection, const char *text)
{
    static const char *const tables[] = {"entries", "images", "idempotency", "once_answers",
                                         "session_writes"};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        // The text form of a row has its bytea in hexadecimal.
        int64_t rows = sql_number(connection,
                                  "select count(*) from holdfast.%s t where strpos(t::text, '%s') > 0 "
                                  "or strpos(t::text, encode('%s'::bytea, 'hex')) > 0",
                                  tables[i], text, text);
        if (rows)
            return true;
    }
    return false;
}

void wait_until_resealed(PGconn *connection)
{
    for (int i = 0; sql_number(connection, "select count(*) from holdfast.reseals where finished_at is null");
         i++) {
        if (i == 1000)
            ck_abort_msg("resealing does not end");
        usleep(20 * 1000);
    }
}
