// The work is the service's, which has the keys in use; this only asks for it and watches.
#include "key_rotate.h"

#include "options.h"
#include "security/key_files.h"
#include "store/embedded.h"

#include <libpq-fe.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int give_up(const char *what)
{
    fprintf(stderr, "holdfast: %s\n", what);
    return 1;
}

static bool current_key(const char *path, char id[KEY_ID_TEXT + 1])
{
    char error[512];
    struct keys *keys = key_files_read(path, error, sizeof error);
    if (!keys) {
        give_up(error);
        return false;
    }
    key_id_format(keys_current(keys)->id, id);
    keys_free(keys);
    return true;
}

// Prints the progress when it moved. Gives whether the work has ended, and whether it was seen at all.
static bool watch(PGconn *pg, const char *work, char shown[64], bool *broken, bool *damaged)
{
    PGresult *result = PQexecParams(
        pg, "select resealed, damaged, finished_at is not null from holdfast.reseals where id = $1::bigint",
        1, NULL, &work, NULL, NULL, 0);
    bool ended = false;
    *broken = PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1;
    if (!*broken) {
        char line[64];
        snprintf(line, sizeof line, "resealed %s, damaged %s", PQgetvalue(result, 0, 0),
                 PQgetvalue(result, 0, 1));
        ended = PQgetvalue(result, 0, 2)[0] == 't';
        *damaged = strcmp(PQgetvalue(result, 0, 1), "0") != 0;
        if (strcmp(line, shown) != 0) {
            puts(line);
            fflush(stdout);
            snprintf(shown, 64, "%s", line);
        }
    }
    PQclear(result);
    return ended;
}

static int follow(PGconn *pg, const char *work)
{
    const struct timespec pause = {.tv_nsec = 200 * 1000 * 1000};
    char shown[64] = "";
    bool broken, damaged = false;
    while (!watch(pg, work, shown, &broken, &damaged)) {
        if (broken)
            return give_up("the database is away; the work goes on, and this command may be run again");
        nanosleep(&pause, NULL);
    }
    if (damaged)
        return give_up("what is damaged stays as it is; the keys it may need should be kept");
    puts("everything is sealed with the current key");
    return 0;
}

static int ask(PGconn *pg, const char *id)
{
    PGresult *result = PQexecParams(pg, "select holdfast.begin_rotation($1)", 1, NULL, &id, NULL, NULL, 0);
    if (PQresultStatus(result) != PGRES_TUPLES_OK) {
        fprintf(stderr, "holdfast: the rotation cannot begin: %s", PQresultErrorMessage(result));
        PQclear(result);
        return 1;
    }
    char *work = strdup(PQgetvalue(result, 0, 0));
    PQclear(result);
    if (!work)
        return give_up("no memory");
    int code = follow(pg, work);
    free(work);
    return code;
}

static int rotate_in(const char *connection, const char *id)
{
    PGconn *pg = PQconnectdb(connection);
    int code = PQstatus(pg) == CONNECTION_OK ? ask(pg, id) : give_up(PQerrorMessage(pg));
    PQfinish(pg);
    return code;
}

int key_rotate(int argc, char **argv)
{
    struct options options;
    char id[KEY_ID_TEXT + 1], own[PATH_MAX + 128];
    enum options_verdict verdict = options_read(OPTIONS_KEY_ROTATE, argc, argv, 3, &options);
    if (verdict != OPTIONS_OK)
        return verdict == OPTIONS_HELP ? 0 : 2;
    if (!options.key_file) {
        give_up("--key-file is missing: which key is the current one?");
        return 2;
    }
    if (!current_key(options.key_file, id))
        return 1;
    if (options.database)
        return rotate_in(options_session_database(&options), id);
    if (!embedded_visit(options.data, own, sizeof own))
        return give_up("there is no private PostgreSQL in the data folder; is --database missing?");
    return rotate_in(own, id);
}
