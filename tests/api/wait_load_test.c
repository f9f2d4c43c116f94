// Many waits at once: one look serves them all, those whose clients left cost nothing, and a service that
// stops answers every one.
#include "wait_steps.h"

#include "entry_steps.h"
#include "support/clock.h"
#include "support/process.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

enum { MANY = 2000, LEAVERS = 20000, LEAVERS_AT_ONCE = 500, LEFT_OVER_KB = 8 * 1024 };

static void start_own(const char *const *flags)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    api.service = service_start(&(struct service_options){.database = api.database.url, .flags = flags});
    api.client = http_client_new(service_url(api.service));
}

static void end_own(void)
{
    http_client_free(api.client);
    if (api.service)
        service_end(api.service);
    database_drop(api.postgres, &api.database);
}

static void park(struct raw **waits, int count, const char *path, const char *headers)
{
    for (int i = 0; i < count; i++)
        waits[i] = wait_begin(api.service, path, headers);
}

struct quiet {
    PGconn *connection;
    int64_t asked, since;
};

// Whether no look was begun for a while.
static bool is_quiet(void *user)
{
    struct quiet *quiet = user;
    int64_t asked = sql_number(quiet->connection, "select last_value from holdfast.asked");
    if (asked != quiet->asked)
        quiet->since = clock_ms();
    quiet->asked = asked;
    return clock_ms() - quiet->since > 500;
}

// Every call of get_entries() asks the database's clock once, and so does every put; a sequence counts them.
START_TEST(many_waits_for_one_key_look_once)
{
    static struct raw *waits[MANY];
    start_own((const char *const[]){"--log-level", "warn", NULL});
    PGconn *sweeping = hold_sweeper(); // it asks for the time too
    const char *path = "/v1/buckets/b/entries/k";
    ck_status(PUT(path, BODY("1")), 201);
    const char *headers = wait_headers(GET(path), 100);
    sql_run(sweeping, "create sequence holdfast.asked start 1");
    sql_run(
        sweeping,
        "create or replace function holdfast.now() returns timestamptz language sql volatile as $$ select "
        "clock_timestamp() from (select nextval('holdfast.asked') offset 0) x $$");
    park(waits, MANY, path, headers);
    struct quiet quiet = {.connection = sweeping, .since = clock_ms()};
    ck_assert(clock_wait(is_quiet, &quiet, 30 * 1000));
    ck_status(PUT(path, BODY("2")), 204);
    for (int i = 0; i < MANY; i++)
        ck_body(wait_end(waits[i]), BODY("2"));
    ck_assert_int_le(sql_number(sweeping, "select last_value from holdfast.asked") - quiet.asked, 3);
    for (int i = 0; i < MANY; i++)
        raw_close(waits[i]);
    PQfinish(sweeping);
    end_own();
}
END_TEST

static int open_descriptors(void)
{
    char path[64];
    int count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)service_pid(api.service));
    DIR *folder = opendir(path);
    ck_assert_ptr_nonnull(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static bool descriptors_are_back(void *user)
{
    return open_descriptors() <= *(int *)user + 2;
}

static long resident_kb(void)
{
    char path[64], line[200];
    long kb = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)service_pid(api.service));
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file))
        sscanf(line, "VmRSS: %ld", &kb);
    fclose(file);
    return kb;
}

// Waits whose clients leave at once or a little later, in every way that there is to leave.
static void come_and_leave(int count, const char *path)
{
    static struct raw *waits[LEAVERS_AT_ONCE];
    for (int done = 0; done < count; done += LEAVERS_AT_ONCE) {
        park(waits, LEAVERS_AT_ONCE, path, "Prefer: wait=300\r\n");
        if (done % (4 * LEAVERS_AT_ONCE) == 0)
            ck_assert(raw_silent(waits[LEAVERS_AT_ONCE - 1], 50));
        for (int i = 0; i < LEAVERS_AT_ONCE; i++) {
            if (i % 4 == 0)
                raw_text(waits[i], "GET /livez HTTP/1.1\r\nHost: h\r\n\r\n"); // behind the wait
            if (i % 4 == 1)
                raw_shutdown(waits[i]); // the service cannot tell it from one that left
            if (i % 2)
                raw_close(waits[i]);
            else
                raw_abort(waits[i]);
        }
    }
}

START_TEST(clients_that_leave_cost_nothing)
{
    start_own((const char *const[]){"--log-level", "warn", NULL});
    const char *path = "/v1/buckets/b/entries/k";
    int before = open_descriptors();
    struct raw *faithful = wait_begin(api.service, path, "Prefer: wait=300\r\n");
    come_and_leave(2000, path);
    ck_assert(clock_wait(descriptors_are_back, &before, WAIT_PATIENCE));
    long resident = resident_kb();
    come_and_leave(LEAVERS, path);
    ck_assert(clock_wait(descriptors_are_back, &before, WAIT_PATIENCE));
#ifndef __SANITIZE_ADDRESS__ // it keeps what is freed for a while
    ck_assert_int_lt(resident_kb() - resident, LEFT_OVER_KB);
#else
    (void)resident;
#endif
    ck_assert(raw_silent(faithful, 0));
    ck_status(PUT(path, BODY("v")), 201);
    ck_body(wait_end(faithful), BODY("v"));
    raw_close(faithful);
    end_own();
}
END_TEST

// K8S-3: at once, also when new requests are served for a while yet.
START_TEST(sigterm_answers_waits_with_what_is_true)
{
    enum { EACH = 500 };
    static struct raw *unchanged[EACH], *absent[EACH];
    for (int round = 0; round < 2; round++) {
        start_own((const char *const[]){"--log-level", "warn", "--drain", round ? "5s" : "0", NULL});
        const char *path = "/v1/buckets/b/entries/k";
        ck_status(PUT(path, BODY("v")), 201);
        park(unchanged, EACH, path, wait_headers(GET(path), 300));
        park(absent, EACH, "/v1/buckets/b/entries/none", "Prefer: wait=300\r\n");
        ck_assert(raw_silent(absent[EACH - 1], 300));
        int64_t start = clock_ms();
        ck_assert_int_eq(kill(service_pid(api.service), SIGTERM), 0);
        for (int i = 0; i < EACH; i++) {
            struct answer *answer = wait_end(unchanged[i]);
            ck_status(answer, 304);
            ck_header(answer, "Connection", "close");
            answer = wait_end(absent[i]);
            ck_problem(answer, 404, "not_found");
            ck_header(answer, "Connection", "close");
        }
        ck_assert_int_lt(clock_ms() - start, 4500);
        if (round) // who comes while it drains is answered at once
            ck_problem(
                wait_end(wait_begin(api.service, "/v1/buckets/b/entries/none", "Prefer: wait=300\r\n")), 404,
                "not_found");
        ck_assert_int_eq(service_wait(api.service, 20 * 1000), 0);
        for (int i = 0; i < EACH; i++) {
            raw_close(unchanged[i]);
            raw_close(absent[i]);
        }
        api.service = NULL;
        end_own();
    }
}
END_TEST

Suite *wait_load_suite(void)
{
    const TTest *const tests[] = {
        many_waits_for_one_key_look_once,
        clients_that_leave_cost_nothing,
        sigterm_answers_waits_with_what_is_true,
        NULL,
    };
    return api_suite_bare("wait_load", tests);
}
