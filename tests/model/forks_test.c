// Random operations on the main data and through forks of both kinds, one at a time on either of two
// replicas, each answer held against a model that copies everything when a fork is made; the seed replays a
// run.
#include "base/timestamp.h"
#include "model/fork_model.h"
#include "model/replicas.h"
#include "model/suites.h"
#include "support/entry_client.h"
#include "support/postgres.h"
#include "support/random.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>

enum { STEPS = 1500, RUNS = 3, TRACE = 200, TRACE_LINE = 300, TARGET = 256 };

static const int64_t START = INT64_C(1893456000000000); // 2030-01-01

struct run {
    uint64_t seed;
    size_t step;
    struct random random;
    struct fork_world world;
    struct entry_client replicas[2];
    struct entry_reply reply; // of the last call
    PGconn *connection;
    int64_t made; // forks
    int64_t last_value;
    char trace[TRACE][TRACE_LINE];
    size_t applied[8]; // statuses seen, by hundred
};

static void refute(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));

static void refute(struct run *run, const char *format, ...)
{
    va_list arguments;
    char text[600];
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (size_t i = run->step + 1 > TRACE ? run->step + 1 - TRACE : 0; i <= run->step; i++)
        fprintf(stderr, "%5zu %s\n", i, run->trace[i % TRACE]);
    ck_abort_msg("seed %" PRIu64 ", step %zu: %s; the reply was %d %.*s", run->seed, run->step, text,
                 run->reply.status, (int)run->reply.body.size, (const char *)run->reply.body.data);
    abort();
}

static void note(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void note(struct run *run, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(run->trace[run->step % TRACE], TRACE_LINE, format, arguments);
    va_end(arguments);
}

static void ask(struct run *run, const char *method, const char *target, const char *body,
                const char *headers)
{
    size_t replica = random_below(&run->random, 2);
    bool json = body != NULL && (body[0] == '{' || strstr(target, "/v1/forks/") != NULL);
    struct entry_request request = {.method = method,
                                    .target = target,
                                    .body = body ? bytes_of(body) : (struct bytes){0},
                                    .content_type = json ? "application/json" : NULL,
                                    .headers = headers};
    entry_client_ask(&run->replicas[replica], &request, &run->reply);
    note(run, "%" PRId64 " replica %zu %s %s %s %s -> %d %s %s", run->world.now - START, replica, method,
         target, body ? body : "", headers ? headers : "", run->reply.status, run->reply.version,
         run->reply.expires_at);
    if (run->reply.outcome != ENTRY_ANSWERED)
        refute(run, "no answer");
    run->applied[run->reply.status / 100]++;
}

static void expect(struct run *run, int status)
{
    if (run->reply.status != status)
        refute(run, "%d is wanted", status);
}

// `call` is NULL or what follows the key; `query` is NULL or a parameter.
static const char *target_of(char target[TARGET], const struct model_fork *fork, size_t bucket, size_t key,
                             const char *call, const char *query)
{
    snprintf(target, TARGET, "/v1/buckets/b%zu/entries/k%zu%s%s?%s%s%s%s", bucket, key, call ? "/" : "",
             call ? call : "", fork ? "fork=" : "", fork ? fork->id : "", query ? "&" : "",
             query ? query : "");
    char *separator = strstr(target, "?&");
    if (separator) // no fork, but a query
        memmove(separator + 1, separator + 2, strlen(separator + 2) + 1);
    return target;
}

static void check_expiry(struct run *run, const struct fork_cell *cell)
{
    char expected[TIMESTAMP_SIZE] = "";
    if (cell->expires)
        timestamp_format(cell->expires_at, expected);
    if (strcmp(expected, run->reply.expires_at) != 0)
        refute(run, "Holdfast-Expires-At is '%s', not '%s'", run->reply.expires_at, expected);
}

// --- reading
// ------------------------------------------------------------------------------------------------

static void get_entry(struct run *run, struct model_fork *fork, size_t bucket, size_t key)
{
    char target[TARGET], value[32];
    const struct fork_cell *seen = world_seen(&run->world, fork, bucket, key);
    ask(run, "GET", target_of(target, fork, bucket, key, NULL, NULL), NULL, NULL);
    expect(run, seen ? 200 : 404);
    if (!seen)
        return;
    snprintf(value, sizeof value, "%" PRId64, seen->value);
    if (!bytes_is(run->reply.body, value) || strcmp(run->reply.version, seen->version) != 0)
        refute(run, "not %s of version %s", value, seen->version);
    check_expiry(run, seen);
}

// One page after the other, of a size that is drawn.
static void scan(struct run *run, struct model_fork *fork, size_t bucket, size_t unused)
{
    (void)unused;
    size_t key = 0, limit = 1 + random_below(&run->random, 4);
    char cursor[200] = "";
    do {
        char target[TARGET * 2];
        snprintf(target, sizeof target, "/v1/buckets/b%zu/entries?limit=%zu%s%s%s%s", bucket, limit,
                 fork ? "&fork=" : "", fork ? fork->id : "", *cursor ? "&cursor=" : "", cursor);
        ask(run, "GET", target, NULL, NULL);
        if (!world_declared(&run->world, fork, bucket)) {
            expect(run, 404);
            return;
        }
        expect(run, 200);
        json_t *json = json_loadb((const char *)run->reply.body.data, run->reply.body.size, 0, NULL), *entry;
        size_t i;
        json_array_foreach(json_object_get(json, "entries"), i, entry)
        {
            while (key < FORK_KEYS && !world_seen(&run->world, fork, bucket, key))
                key++;
            const struct fork_cell *seen =
                key < FORK_KEYS ? world_seen(&run->world, fork, bucket, key) : NULL;
            char name[24];
            snprintf(name, sizeof name, "k%zu", key);
            if (!seen || strcmp(json_string_value(json_object_get(entry, "key")), name) != 0 ||
                strcmp(json_string_value(json_object_get(entry, "version")), seen->version) != 0)
                refute(run, "the scan wants %s of version %s", name, seen ? seen->version : "none");
            key++;
        }
        const char *next = json_string_value(json_object_get(json, "cursor"));
        snprintf(cursor, sizeof cursor, "%s", next ? next : "");
        json_decref(json);
    } while (*cursor);
    for (; key < FORK_KEYS; key++)
        if (world_seen(&run->world, fork, bucket, key))
            refute(run, "the scan lacks k%zu", key);
}

// --- writing
// ------------------------------------------------------------------------------------------------

// The next value, and its expiry: `seconds` from now (0: nothing said).
static struct fork_cell next_cell(struct run *run, const struct model_fork *fork,
                                  const struct fork_cell *seen, size_t seconds)
{
    struct fork_cell cell = {.present = true, .value = ++run->last_value};
    if (seconds) {
        cell.expires = true;
        cell.expires_at = run->world.now + (int64_t)seconds * 1000000;
    } else if (seen && seen->expires) {
        cell.expires = true;
        cell.expires_at = world_kept_expiry(&run->world, fork, seen);
    }
    return cell;
}

static void take_version(struct run *run, struct fork_cell *cell)
{
    if (!*run->reply.version)
        refute(run, "a write without ETag");
    snprintf(cell->version, sizeof cell->version, "%s", run->reply.version);
}

static void put_entry(struct run *run, struct model_fork *fork, size_t bucket, size_t key)
{
    char target[TARGET], value[32], query[32], headers[120] = "";
    const struct fork_cell *seen = world_seen(&run->world, fork, bucket, key);
    size_t seconds = random_chance(&run->random, 40) ? 1 + random_below(&run->random, 200) : 0;
    struct fork_cell cell = next_cell(run, fork, seen, seconds);
    bool held = true;
    switch (random_below(&run->random, 6)) {
    case 0:
        snprintf(headers, sizeof headers, "If-None-Match: *\r\n");
        held = !seen;
        break;
    case 1: // the version of the main data, which a fork may not have any more
        snprintf(headers, sizeof headers, "If-Match: \"%s\"\r\n", run->world.main[bucket].cells[key].version);
        held = seen && strcmp(seen->version, run->world.main[bucket].cells[key].version) == 0;
        break;
    default:
        break;
    }
    snprintf(value, sizeof value, "%" PRId64, cell.value);
    snprintf(query, sizeof query, "ttl=%zus", seconds);
    ask(run, "PUT", target_of(target, fork, bucket, key, NULL, seconds ? query : NULL), value,
        *headers ? headers : NULL);
    expect(run, !held ? 412 : seen ? 204 : 201);
    world_tried(&run->world, fork, bucket);
    if (!held)
        return;
    take_version(run, &cell);
    check_expiry(run, &cell);
    world_put(&run->world, fork, bucket, key, &cell);
}

static void delete_entry(struct run *run, struct model_fork *fork, size_t bucket, size_t key)
{
    char target[TARGET];
    bool takes = random_chance(&run->random, 50);
    const struct fork_cell *seen = world_seen(&run->world, fork, bucket, key);
    ask(run, takes ? "POST" : "DELETE", target_of(target, fork, bucket, key, takes ? "take" : NULL, NULL),
        NULL, NULL);
    expect(run, !seen ? 404 : takes ? 200 : 204);
    world_tried(&run->world, fork, bucket);
    if (seen)
        world_delete(&run->world, fork, bucket, key);
}

static void add_entry(struct run *run, struct model_fork *fork, size_t bucket, size_t key)
{
    char target[TARGET];
    const struct fork_cell *seen = world_seen(&run->world, fork, bucket, key);
    struct fork_cell cell = next_cell(run, fork, seen, 0);
    cell.value = (seen ? seen->value : 0) + 1000;
    ask(run, "POST", target_of(target, fork, bucket, key, "add", NULL), "{\"by\":1000}", NULL);
    expect(run, 200);
    take_version(run, &cell);
    check_expiry(run, &cell);
    world_put(&run->world, fork, bucket, key, &cell);
}

// Read, decided and written by the service: two operations of the database.
static void exchange_entry(struct run *run, struct model_fork *fork, size_t bucket, size_t key)
{
    char target[TARGET], value[32], before[32];
    const struct fork_cell *seen = world_seen(&run->world, fork, bucket, key);
    struct fork_cell cell = next_cell(run, fork, seen, 0);
    snprintf(value, sizeof value, "%" PRId64, cell.value);
    snprintf(before, sizeof before, "%" PRId64, seen ? seen->value : 0);
    ask(run, "POST", target_of(target, fork, bucket, key, "exchange", NULL), value, NULL);
    expect(run, seen ? 200 : 204);
    if (seen && !bytes_is(run->reply.body, before))
        refute(run, "the value before was %s", before);
    take_version(run, &cell);
    world_put(&run->world, fork, bucket, key, &cell);
}

static void change_expiry(struct run *run, struct model_fork *fork, size_t bucket, size_t key)
{
    char target[TARGET], body[40];
    const struct fork_cell *seen = world_seen(&run->world, fork, bucket, key);
    size_t seconds = 1 + random_below(&run->random, 200);
    bool ends = random_chance(&run->random, 70);
    snprintf(body, sizeof body, "{\"ttl\":\"%zus\"}", seconds);
    ask(run, ends ? "PUT" : "DELETE", target_of(target, fork, bucket, key, "expiry", NULL),
        ends ? body : NULL, NULL);
    expect(run, seen ? 204 : 404);
    world_tried(&run->world, fork, bucket);
    if (!seen)
        return;
    struct fork_cell cell = *seen;
    cell.expires = ends;
    cell.expires_at = run->world.now + (int64_t)seconds * 1000000;
    check_expiry(run, &cell);
    world_put(&run->world, fork, bucket, key, &cell);
}

// --- the main data alone
// ------------------------------------------------------------------------------------------

static void move_entry(struct run *run, struct model_fork *unused, size_t bucket, size_t key)
{
    (void)unused;
    char target[TARGET], body[80];
    const struct fork_cell *seen = world_seen(&run->world, NULL, bucket, key);
    size_t to_bucket = random_below(&run->random, FORK_BUCKETS),
           to_key = random_below(&run->random, FORK_KEYS);
    bool moves = random_chance(&run->random, 50);
    snprintf(body, sizeof body, "{\"to_bucket\":\"b%zu\",\"to_key\":\"k%zu\"}", to_bucket, to_key);
    ask(run, "POST", target_of(target, NULL, bucket, key, moves ? "move" : "copy", NULL), body, NULL);
    expect(run, seen ? 200 : 404);
    if (!seen)
        return;
    struct fork_cell cell = *seen;
    if (!entry_reply_member(&run->reply, "version", cell.version))
        refute(run, "no version");
    if (moves)
        world_delete(&run->world, NULL, bucket, key);
    world_put(&run->world, NULL, to_bucket, to_key, &cell);
}

// As one call removes rows, or as a clear of many hides them.
static void clear_bucket(struct run *run, struct model_fork *unused, size_t bucket, size_t key)
{
    (void)unused;
    char target[TARGET];
    bool declared = run->world.main[bucket].declared;
    if (random_chance(&run->random, 50)) {
        note(run, "clear of b%zu by a range from k%zu", bucket, key);
        sql_run(run->connection,
                "select * from holdfast.clear_range('b%zu', '\\x01'::bytea || convert_to('k%zu', 'UTF8'), "
                "null, 0, null, 0)",
                bucket, key);
    } else {
        snprintf(target, sizeof target, "/v1/buckets/b%zu/entries?start=k%zu", bucket, key);
        ask(run, "DELETE", target, NULL, NULL);
        expect(run, declared ? 200 : 404);
    }
    for (; key < FORK_KEYS; key++)
        world_delete(&run->world, NULL, bucket, key);
}

static void drop_bucket(struct run *run, struct model_fork *unused, size_t bucket, size_t key)
{
    (void)unused;
    (void)key;
    char target[TARGET];
    snprintf(target, sizeof target, "/v1/buckets/b%zu", bucket);
    ask(run, "DELETE", target, NULL, NULL);
    expect(run, run->world.main[bucket].declared ? 204 : 404);
    world_drop(&run->world, bucket);
}

static void move_clock(struct run *run, struct model_fork *unused, size_t bucket, size_t key)
{
    (void)unused;
    const struct fork_cell *seen = world_seen(&run->world, NULL, bucket, key);
    if (seen && seen->expires && random_chance(&run->random, 50))
        run->world.now = seen->expires_at - (random_chance(&run->random, 50) ? 1 : 0);
    else
        run->world.now += 1 + (int64_t)random_below(&run->random, 60000000);
    replicas_set_clock(run->world.now);
    note(run, "the clock is %" PRId64, run->world.now - START);
}

static void sweep(struct run *run, struct model_fork *unused, size_t bucket, size_t key)
{
    (void)unused;
    (void)bucket;
    (void)key;
    size_t most = 1 + random_below(&run->random, 20);
    note(run, "a step of the sweeper, %zu rows", most);
    sql_run(run->connection, "select holdfast.sweep(%zu)", most);
}

// --- forks
// ------------------------------------------------------------------------------------------------

static void check_all_of(struct run *run, struct model_fork *fork)
{
    for (size_t bucket = 0; bucket < FORK_BUCKETS; bucket++) {
        for (size_t key = 0; key < FORK_KEYS; key++, run->step++)
            get_entry(run, fork, bucket, key);
        scan(run, fork, bucket, 0);
    }
}

static void make_fork(struct run *run, struct model_fork *fork)
{
    char target[TARGET];
    bool severed = random_chance(&run->random, 70);
    snprintf(fork->id, sizeof fork->id, "f%" PRId64, run->made++);
    snprintf(target, sizeof target, "/v1/forks/%s", fork->id);
    ask(run, "PUT", target, severed ? "{\"kind\":\"severed\"}" : "{\"kind\":\"continuous\"}", NULL);
    expect(run, 201);
    world_fork(&run->world, fork, severed);
}

static void discard_fork(struct run *run, struct model_fork *fork)
{
    char target[TARGET];
    snprintf(target, sizeof target, "/v1/forks/%s", fork->id);
    ask(run, "DELETE", target, NULL, NULL);
    expect(run, 200);
    fork->open = false;
}

// The versions that a promote gave are learnt by reading them; what else a read shows is known.
static void learn_versions(struct run *run, const struct model_fork *fork)
{
    char target[TARGET];
    for (size_t bucket = 0; bucket < FORK_BUCKETS; bucket++) {
        for (size_t key = 0; key < FORK_KEYS; key++) {
            struct fork_cell *cell = &run->world.main[bucket].cells[key];
            if (!fork->touched[bucket][key] || !cell->present)
                continue;
            run->step++;
            ask(run, "GET", target_of(target, NULL, bucket, key, NULL, NULL), NULL, NULL);
            expect(run, 200);
            if (strcmp(run->reply.version, cell->version) == 0)
                refute(run, "the version of the fork is used again");
            snprintf(cell->version, sizeof cell->version, "%s", run->reply.version);
            get_entry(run, NULL, bucket, key);
        }
    }
}

static void promote_fork(struct run *run, struct model_fork *fork)
{
    char target[TARGET], expected[40];
    bool careful = random_chance(&run->random, 60);
    snprintf(target, sizeof target, "/v1/forks/%s/promote?if_unchanged=%s", fork->id,
             careful ? "true" : "false");
    ask(run, "POST", target, NULL, NULL);
    if (careful && world_moved(&run->world, fork)) {
        expect(run, 409);
        return;
    }
    expect(run, 200);
    snprintf(expected, sizeof expected, "{\"rows\":%zu}\n", world_touched(fork));
    if (!bytes_is(run->reply.body, expected))
        refute(run, "not %s", expected);
    world_promote(&run->world, fork);
    learn_versions(run, fork);
}

static void change_forks(struct run *run, struct model_fork *unused, size_t bucket, size_t key)
{
    (void)unused;
    (void)bucket;
    (void)key;
    struct model_fork *fork = &run->world.forks[random_below(&run->random, FORK_SLOTS)];
    if (!fork->open)
        make_fork(run, fork);
    else if (random_chance(&run->random, 30))
        check_all_of(run, fork);
    else if (random_chance(&run->random, 50))
        promote_fork(run, fork);
    else
        discard_fork(run, fork);
}

// --- the run
// ------------------------------------------------------------------------------------------------

static const struct {
    unsigned weight; // of 100
    bool through;    // may go through a fork
    void (*run)(struct run *run, struct model_fork *fork, size_t bucket, size_t key);
} operations[] = {
    {23, true, put_entry},     {18, true, get_entry},    {9, true, delete_entry}, {8, true, add_entry},
    {5, true, exchange_entry}, {7, true, change_expiry}, {7, true, scan},         {4, false, move_entry},
    {3, false, clear_bucket},  {1, false, drop_bucket},  {4, false, move_clock},  {5, false, sweep},
    {6, false, change_forks},
};

static void step(struct run *run)
{
    struct model_fork *fork = &run->world.forks[random_below(&run->random, FORK_SLOTS)];
    size_t drawn = random_below(&run->random, 100), operation = 0;
    for (; drawn >= operations[operation].weight; operation++)
        drawn -= operations[operation].weight;
    bool through = operations[operation].through && fork->open && random_chance(&run->random, 55);
    operations[operation].run(run, through ? fork : NULL, random_below(&run->random, FORK_BUCKETS),
                              random_below(&run->random, FORK_KEYS));
}

START_TEST(random_forks_agree_with_a_model_that_copies)
{
    struct run *run = calloc(1, sizeof *run);
    ck_assert_ptr_nonnull(run);
    run->seed = random_run_seed() + (uint64_t)_i;
    run->random = random_seeded(run->seed, 0);
    run->connection = replicas_connect();
    run->world.now = START + _i * INT64_C(86400000000);
    replicas_set_clock(run->world.now);
    for (size_t i = 0; i < 2; i++)
        run->replicas[i] = entry_client_new(replicas_port(i));
    for (; run->step < STEPS; run->step++)
        step(run);
    check_all_of(run, NULL);
    for (size_t i = 0; i < FORK_SLOTS; i++) {
        if (!run->world.forks[i].open)
            continue;
        check_all_of(run, &run->world.forks[i]);
        discard_fork(run, &run->world.forks[i]);
    }
    // Nothing of forks is left in the end.
    for (int i = 0; i < 1000 && sql_number(run->connection, "select holdfast.sweep(1000)") != 0; i++)
        continue;
    ck_assert_int_eq(sql_number(run->connection, "select (select count(*) from holdfast.images)"
                                                 " + (select count(*) from holdfast.fork_keys)"
                                                 " + (select count(*) from holdfast.forks)"),
                     0);
    for (size_t bucket = 0; bucket < FORK_BUCKETS; bucket++)
        drop_bucket(run, NULL, bucket, 0);
    replicas_set_clock(0);
    printf("forks, seed %" PRIu64 ": %zu steps, %" PRId64 " forks, %zu replies 2xx, %zu 4xx\n", run->seed,
           run->step, run->made, run->applied[2], run->applied[4]);
    fflush(stdout);
    PQfinish(run->connection);
    entry_client_close(&run->replicas[0]);
    entry_client_close(&run->replicas[1]);
    free(run);
}
END_TEST

Suite *forks_suite(void)
{
    Suite *suite = suite_create("forks");
    TCase *tcase = tcase_create("two replicas");
    tcase_set_timeout(tcase, 300);
    tcase_add_unchecked_fixture(tcase, replicas_start, replicas_stop);
    tcase_add_loop_test(tcase, random_forks_agree_with_a_model_that_copies, 0, RUNS);
    suite_add_tcase(suite, tcase);
    return suite;
}
