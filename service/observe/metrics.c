// One row a family: its name, what it tells, and where its numbers lie in the counts of a worker.
#include "observe/metrics.h"

#include "base/timestamp.h"
#include "observe/exposition.h"
#include "observe/process.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    BACKLOG_FRESH = 60 * 1000 * 1000, // what the database was asked longer ago is not told
};

struct metrics {
    int workers;
    const struct metrics_route *routes;
    size_t route_count;
    struct metrics_limits limits;
    struct counts *counts; // one a worker
};

// How what several workers counted makes one number.
enum gathering {
    SUM,
    MOST, // each of them counted the same
};

struct family {
    const char *name;
    enum exposition_type type;
    size_t offset; // in struct counts; of several series, of the first
    int series;
    const char *label;
    const char *const *values;
    const struct histogram_bounds *bounds;
    enum gathering gathering;
    const char *help;
};

#define AT(member) .offset = offsetof(struct counts, member), .series = 1
#define EACH(member, by, names)                                                                              \
    .offset = offsetof(struct counts, member), .series = (int)(sizeof(names) / sizeof(names)[0]),            \
    .label = by, .values = names
#define BY_ROLE(member)                                                                                      \
    .offset = offsetof(struct counts, member), .series = COUNTED_ROLES, .label = "role",                     \
    .values = counted_role_names

static const char *const part_names[] = {"received", "queued", "database", "reply"};
static const char *const capacity_names[] = {
    "connections", "connections_per_address", "waits", "waits_per_token", "body_memory", "database_queue"};
static const char *const call_refusal_names[] = {"repeated", "split", "put_off", "failed"};
static const char *const topic_names[] = {"entries", "leases", "once", "forks"};
static const char *const lease_event_names[] = {"granted", "renewed", "released", "refused"};
static const char *const limiter_names[] = {"counter", "rate_limit", "rate_gate", "quota"};

_Static_assert(sizeof part_names / sizeof part_names[0] == REQUEST_PARTS, "a name for each");
_Static_assert(sizeof capacity_names / sizeof capacity_names[0] == CAPACITIES, "a name for each");
_Static_assert(sizeof call_refusal_names / sizeof call_refusal_names[0] == CALL_REFUSALS, "a name for each");
_Static_assert(sizeof topic_names / sizeof topic_names[0] == COUNTED_TOPICS, "a name for each");
_Static_assert(sizeof lease_event_names / sizeof lease_event_names[0] == LEASE_EVENTS, "a name for each");
_Static_assert(sizeof limiter_names / sizeof limiter_names[0] == LIMITER_REFUSALS, "a name for each");

static const struct family families[] = {
    {"holdfast_request_part_duration_seconds", EXPOSITION_HISTOGRAM, EACH(parts, "part", part_names),
     .bounds = &bounds_duration,
     .help =
         "Where requests spent their time: receiving them, queued for a database connection, with the "
         "database, and replying after its last answer. Of a request with several operations they are added "
         "up, also where they ran side by side."},
    {"holdfast_wait_duration_seconds", EXPOSITION_HISTOGRAM, AT(waits), .bounds = &bounds_wait,
     .help = "How long requests took that waited for what others do (Prefer: wait); they are not in "
             "holdfast_request_duration_seconds."},
    {"holdfast_request_body_bytes", EXPOSITION_HISTOGRAM, AT(request_bytes), .bounds = &bounds_size,
     .help = "Sizes of request bodies; requests without one are not in it."},
    {"holdfast_reply_body_bytes", EXPOSITION_HISTOGRAM, AT(reply_bytes), .bounds = &bounds_size,
     .help = "Sizes of reply bodies; replies without one are not in it."},
    {"holdfast_written_value_bytes", EXPOSITION_HISTOGRAM, AT(value_bytes), .bounds = &bounds_size,
     .help = "Sizes of values that were sent as a body and written."},
    {"holdfast_slow_requests_total", EXPOSITION_COUNTER, AT(slow_requests),
     .help = "Requests that took longer than --slow and did not wait for what others do."},

    {"holdfast_connections", EXPOSITION_GAUGE, AT(connections), .help = "Clients connected now."},
    {"holdfast_connections_accepted_total", EXPOSITION_COUNTER, AT(accepted),
     .help = "Connections of clients that were accepted."},
    {"holdfast_capacity_refusals_total", EXPOSITION_COUNTER,
     EACH(capacity_refusals, "resource", capacity_names),
     .help = "What was refused because a bound of this process was reached."},
    {"holdfast_waits", EXPOSITION_GAUGE, AT(parked), .help = "Requests that wait now for what others do."},
    {"holdfast_body_memory_bytes", EXPOSITION_GAUGE, AT(body_bytes),
     .help = "Memory that bodies of requests take now."},

    {"holdfast_database_round_trips_total", EXPOSITION_COUNTER, BY_ROLE(round_trips),
     .help = "Calls that were sent to the database and answered or lost, by the connection's role."},
    {"holdfast_database_call_duration_seconds", EXPOSITION_HISTOGRAM, BY_ROLE(calls),
     .bounds = &bounds_duration, .help = "From sending a call until its answer was there."},
    {"holdfast_batch_operations", EXPOSITION_HISTOGRAM, BY_ROLE(batches), .bounds = &bounds_batch,
     .help = "How many operations travelled in one call."},
    {"holdfast_database_queue_operations", EXPOSITION_GAUGE, BY_ROLE(queued),
     .help = "Operations that wait now for a connection of this role."},
    {"holdfast_database_connections", EXPOSITION_GAUGE, BY_ROLE(wanted),
     .help = "Connections to the database that this process keeps, open or not."},
    {"holdfast_database_connections_ready", EXPOSITION_GAUGE, BY_ROLE(ready),
     .help = "Those of them that are ready now."},
    {"holdfast_database_connections_lost_total", EXPOSITION_COUNTER, BY_ROLE(losses),
     .help = "Connections to the database that broke while they were ready."},
    {"holdfast_database_reconnects_total", EXPOSITION_COUNTER, BY_ROLE(reconnects),
     .help = "Connections to the database that became ready again after a loss."},
    {"holdfast_database_calls_refused_total", EXPOSITION_COUNTER,
     EACH(call_refusals, "then", call_refusal_names),
     .help =
         "Calls that the database refused, by what became of them: repeated as they were, split into their "
         "operations, put off (503) or failed (500)."},
    {"holdfast_unknown_outcomes_total", EXPOSITION_COUNTER, AT(unknown_outcomes),
     .help =
         "Writes whose connection broke after they were sent, so that nobody knows whether they were done."},

    {"holdfast_notifications_total", EXPOSITION_COUNTER, AT(notifications), .gathering = MOST,
     .help =
         "Notifications of changes that arrived here, each once: those that writers of all replicas sent to "
         "this database. Every other write saved its notification, since nobody waited."},
    {"holdfast_writing_calls_total", EXPOSITION_COUNTER, AT(writing_calls),
     .help =
         "Calls to the database that may have changed something and were answered. Each would notify, were "
         "nobody asked whether somebody waits: what those of all replicas exceed "
         "holdfast_notifications_total "
         "by is about what was saved. It is not counted one by one, which would make each write's answer "
         "longer."},
    {"holdfast_wakeups_total", EXPOSITION_COUNTER, EACH(wake_ups, "topic", topic_names),
     .help = "How often something that waits was made to look again."},
    {"holdfast_waited_names", EXPOSITION_GAUGE, AT(waited_buckets),
     .help = "Names whose writers this process asks to tell of changes, each worker's counted."},

    {"holdfast_sweeper_steps_total", EXPOSITION_COUNTER, AT(sweeps),
     .help = "Steps of the sweeper that this process made; others are made by other replicas."},
    {"holdfast_swept_rows_total", EXPOSITION_COUNTER, AT(swept),
     .help = "Rows that this process freed, or put off because they live on."},

    {"holdfast_leases_total", EXPOSITION_COUNTER, EACH(leases, "event", lease_event_names),
     .help = "Leases that this process granted, renewed or released, and acquisitions that were refused."},
    {"holdfast_limiter_refusals_total", EXPOSITION_COUNTER, EACH(limiter_refusals, "limiter", limiter_names),
     .help = "Calls that a limit refused, and adds that a counter had no room for."},
};

static const exposition_labels no_labels;

// --- gathering
// --------------------------------------------------------------------------------------------------------

static const void *counted(const struct metrics *metrics, int worker, size_t offset)
{
    return (const char *)&metrics->counts[worker] + offset;
}

static uint64_t gather(const struct metrics *metrics, size_t offset, enum gathering gathering)
{
    uint64_t result = 0;
    for (int i = 0; i < metrics->workers; i++) {
        uint64_t n = count_get(counted(metrics, i, offset));
        if (gathering == SUM)
            result += n;
        else if (n > result)
            result = n;
    }
    return result;
}

// Adds what one worker counted; gives how many.
static uint64_t add_histogram(const struct histogram *histogram, uint64_t *within, uint64_t *sum)
{
    uint64_t count = 0;
    for (int i = 0; i <= HISTOGRAM_BOUNDS; i++) {
        uint64_t n = count_get(&histogram->within[i]);
        within[i] += n;
        count += n;
    }
    *sum += count_get(&histogram->sum);
    return count;
}

// --- families of one row
// ----------------------------------------------------------------------------------------------

static void write_histogram(struct buffer *out, const struct metrics *metrics, const struct family *family,
                            size_t offset, const exposition_labels labels)
{
    uint64_t within[HISTOGRAM_BOUNDS + 1] = {0};
    uint64_t sum = 0;
    for (int i = 0; i < metrics->workers; i++)
        add_histogram(counted(metrics, i, offset), within, &sum);
    exposition_histogram(out, family->name, labels, family->bounds, within, sum);
}

static void write_family(struct buffer *out, const struct metrics *metrics, const struct family *family)
{
    size_t size = family->bounds ? sizeof(struct histogram) : sizeof(struct count);
    exposition_family(out, family->name, family->type, family->help);
    for (int i = 0; i < family->series; i++) {
        size_t offset = family->offset + (size_t)i * size;
        exposition_labels labels = {{family->label, family->label ? family->values[i] : NULL}};
        if (family->bounds)
            write_histogram(out, metrics, family, offset, labels);
        else
            exposition_sample(out, family->name, labels, gather(metrics, offset, family->gathering), 1);
    }
}

// --- requests by route
// ------------------------------------------------------------------------------------------------

static size_t route_places(const struct metrics *metrics)
{
    return metrics->route_count * 2 + METHODS;
}

static void label_route(const struct metrics *metrics, size_t place, exposition_labels labels)
{
    bool routed = place < metrics->route_count * 2;
    const struct metrics_route *route = routed ? &metrics->routes[place / 2] : NULL;
    labels[0] = (struct exposition_label){"route", routed ? route->template : "none"};
    labels[1].name = "method";
    labels[1].value = !routed     ? counted_method_names[place - metrics->route_count * 2]
                      : place & 1 ? "HEAD"
                                  : route->method;
}

static uint64_t requests_with(const struct metrics *metrics, size_t place, int status)
{
    uint64_t result = 0;
    for (int i = 0; i < metrics->workers; i++) {
        const struct route_counts *counts = &metrics->counts[i].by_route[place];
        result += count_get(status < STATUSES ? &counts->statuses[status] : &counts->others);
    }
    return result;
}

static void write_requests(struct buffer *out, const struct metrics *metrics)
{
    static const char name[] = "holdfast_requests_total";
    exposition_family(
        out, name, EXPOSITION_COUNTER,
        "Requests by the route's template, method and status. route none: no route has the path "
        "and method. status none: the client left before there was an answer.");
    for (size_t place = 0; place < route_places(metrics); place++)
        for (int i = 0; i <= STATUSES; i++) {
            uint64_t n = requests_with(metrics, place, i);
            if (!n)
                continue;
            char status[8];
            exposition_labels labels = {{0}};
            label_route(metrics, place, labels);
            snprintf(status, sizeof status, "%u", i < STATUSES ? counted_statuses[i] : 0U);
            labels[2].name = "status";
            labels[2].value = i == STATUSES ? "other" : counted_statuses[i] ? status : "none";
            exposition_sample(out, name, labels, n, 1);
        }
}

static void write_durations(struct buffer *out, const struct metrics *metrics)
{
    static const char name[] = "holdfast_request_duration_seconds";
    exposition_family(
        out, name, EXPOSITION_HISTOGRAM,
        "From a request's headers until its reply was sent. Requests that waited for what others "
        "do are in holdfast_wait_duration_seconds instead.");
    for (size_t place = 0; place < route_places(metrics); place++) {
        uint64_t within[HISTOGRAM_BOUNDS + 1] = {0};
        uint64_t sum = 0, count = 0;
        exposition_labels labels = {{0}};
        for (int i = 0; i < metrics->workers; i++)
            count += add_histogram(&metrics->counts[i].by_route[place].duration, within, &sum);
        if (!count)
            continue;
        label_route(metrics, place, labels);
        exposition_histogram(out, name, labels, &bounds_duration, within, sum);
    }
}

// --- families of a single sample
// --------------------------------------------------------------------------------------

static void write_one(struct buffer *out, const char *name, enum exposition_type type, uint64_t number,
                      uint64_t scale, const char *help)
{
    exposition_family(out, name, type, help);
    exposition_sample(out, name, no_labels, number, scale);
}

static void write_limits(struct buffer *out, const struct metrics_limits *limits)
{
    write_one(out, "holdfast_connections_limit", EXPOSITION_GAUGE, limits->connections, 1,
              "Clients that may be connected at once.");
    write_one(out, "holdfast_waits_limit", EXPOSITION_GAUGE, limits->waits, 1,
              "Requests that may wait at once for what others do.");
    write_one(out, "holdfast_body_memory_limit_bytes", EXPOSITION_GAUGE, limits->body_bytes, 1,
              "Memory that bodies of requests may take.");
    write_one(out, "holdfast_database_queue_limit_operations", EXPOSITION_GAUGE, limits->database_queue, 1,
              "Operations that may wait for a connection of one role.");
}

// The worker whose answer about what waits to be freed is the newest; NULL when none is fresh.
static const struct counts *newest_backlog(const struct metrics *metrics)
{
    const struct counts *newest = NULL;
    for (int i = 0; i < metrics->workers; i++) {
        const struct counts *one = &metrics->counts[i];
        if (!newest || count_get(&one->backlog_asked_at) > count_get(&newest->backlog_asked_at))
            newest = one;
    }
    uint64_t asked_at = newest ? count_get(&newest->backlog_asked_at) : 0;
    return asked_at && timestamp_monotonic() - (int64_t)asked_at < BACKLOG_FRESH ? newest : NULL;
}

static void write_backlog(struct buffer *out, const struct metrics *metrics)
{
    const struct counts *counts = newest_backlog(metrics);
    if (!counts)
        return;
    write_one(out, "holdfast_sweeper_lag_seconds", EXPOSITION_GAUGE, count_get(&counts->backlog_lag), 1000000,
              "How long the longest overdue row has been due to be freed. Told by replicas that sweep.");
    write_one(out, "holdfast_sweeper_clears", EXPOSITION_GAUGE, count_get(&counts->backlog_clears), 1,
              "Large clears and dropped names whose rows are still being freed, counted up to 1000. Told by "
              "replicas that sweep.");
    write_one(out, "holdfast_leases_held", EXPOSITION_GAUGE, count_get(&counts->leases_held), 1,
              "Live leases in the database, counted up to 10000. Told by replicas that sweep.");
}

static void write_process(struct buffer *out)
{
    struct process_facts facts;
    process_look(&facts);
    write_one(out, "process_resident_memory_bytes", EXPOSITION_GAUGE, facts.resident, 1,
              "Resident memory size in bytes.");
    write_one(out, "process_virtual_memory_bytes", EXPOSITION_GAUGE, facts.virtual, 1,
              "Virtual memory size in bytes.");
    write_one(out, "process_cpu_seconds_total", EXPOSITION_COUNTER, facts.cpu, 1000000,
              "Total user and system CPU time spent in seconds.");
    write_one(out, "process_start_time_seconds", EXPOSITION_GAUGE, facts.started, 1000000,
              "Start time of the process since unix epoch in seconds.");
    write_one(out, "process_open_fds", EXPOSITION_GAUGE, facts.descriptors, 1,
              "Number of open file descriptors.");
    write_one(out, "process_max_fds", EXPOSITION_GAUGE, facts.descriptors_limit, 1,
              "Maximum number of open file descriptors.");
}

static void write_build(struct buffer *out, const struct metrics *metrics, bool ready)
{
    static const char name[] = "holdfast_build_info";
    const exposition_labels labels = {{"version", HOLDFAST_VERSION}};
    exposition_family(out, name, EXPOSITION_GAUGE, "Always 1; the label tells the version that runs.");
    exposition_sample(out, name, labels, 1, 1);
    write_one(out, "holdfast_workers", EXPOSITION_GAUGE, (uint64_t)metrics->workers, 1,
              "Threads that serve.");
    write_one(out, "holdfast_ready", EXPOSITION_GAUGE, ready, 1,
              "1 while the process would answer /readyz with 200, else 0.");
}

void metrics_write(struct buffer *out, const struct metrics *metrics, bool ready)
{
    write_build(out, metrics, ready);
    write_requests(out, metrics);
    write_durations(out, metrics);
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        write_family(out, metrics, &families[i]);
    write_limits(out, &metrics->limits);
    write_backlog(out, metrics);
    write_process(out);
}

// --- the whole
// --------------------------------------------------------------------------------------------------------

static void *zeroed(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        abort();
    return memory;
}

struct metrics *metrics_new(int workers, const struct metrics_route *routes, size_t route_count,
                            const struct metrics_limits *limits)
{
    struct metrics *metrics = zeroed(1, sizeof *metrics);
    metrics->workers = workers;
    metrics->routes = routes;
    metrics->route_count = route_count;
    metrics->limits = *limits;
    metrics->counts = zeroed((size_t)workers, sizeof *metrics->counts);
    for (int i = 0; i < workers; i++) {
        metrics->counts[i].routes = route_count;
        metrics->counts[i].by_route = zeroed(route_places(metrics), sizeof(struct route_counts));
    }
    return metrics;
}

void metrics_free(struct metrics *metrics)
{
    if (!metrics)
        return;
    for (int i = 0; i < metrics->workers; i++)
        free(metrics->counts[i].by_route);
    free(metrics->counts);
    free(metrics);
}

struct counts *metrics_of_worker(struct metrics *metrics, int worker)
{
    return &metrics->counts[worker];
}
