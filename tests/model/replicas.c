// Starts two services beside each other as users would; the database is migrated before, so both find it
// ready.
#include "model/replicas.h"

#include "support/postgres.h"
#include "support/service.h"

#include <unistd.h>

static struct {
    struct postgres *postgres;
    struct database database;
    struct service *services[2];
    uint16_t ports[2];
} replicas;

void replicas_start(void)
{
    replicas.postgres = postgres_new(NULL);
    replicas.database = database_new(replicas.postgres, DATABASE_MIGRATED);
    for (size_t i = 0; i < 2; i++) {
        replicas.services[i] = service_start(&(struct service_options){.database = replicas.database.url});
        replicas.ports[i] = service_port(replicas.services[i]);
    }
}

void replicas_stop(void)
{
    service_end(replicas.services[0]);
    service_end(replicas.services[1]);
    postgres_free(replicas.postgres);
}

uint16_t replicas_port(size_t replica)
{
    return replicas.ports[replica];
}

PGconn *replicas_connect(void)
{
    return database_connect(&replicas.database);
}

// The clock is turned often, so each test keeps one connection for it instead of the harness's connection a
// call.
void replicas_set_clock(int64_t us)
{
    static PGconn *connection;
    static pid_t owner;
    if (owner != getpid()) {
        connection = database_connect(&replicas.database);
        owner = getpid();
    }
    if (us == 0) {
        PQfinish(connection);
        owner = 0;
        database_shift_clock(&replicas.database, 0);
        return;
    }
    sql_run(
        connection,
        "create or replace function holdfast.now() returns timestamptz language sql volatile parallel safe "
        "as 'select timestamptz ''1970-01-01 00:00:00+00'' + interval ''%lld microseconds'''",
        (long long)us);
}
