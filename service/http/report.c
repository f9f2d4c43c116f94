// What is left of a request when it is over: its line in the access log, another one when it was slow, and
// its counts.
#include "http/internal.h"

// How long each part of a request took, in microseconds.
struct times {
    int64_t whole;
    int64_t parts[REQUEST_PARTS];
};

static struct times times_of(const struct request *request, int64_t now)
{
    const struct account *account = &request->account;
    int64_t worked = request->worked ? request->worked : now;
    int64_t answered = account->answered > worked ? account->answered : worked;
    return (struct times){
        .whole = now - request->started,
        .parts = {[PART_RECEIVED] = worked - request->started,
                  [PART_QUEUED] = account->queued,
                  [PART_DATABASE] = account->database,
                  [PART_REPLY] = now - answered},
    };
}

// --- the log
// ----------------------------------------------------------------------------------------------------------

// The time of the turn: lines of one turn are written together, and need not each ask the clock.
static const char *log_time(struct http_server *server)
{
    int64_t turn = loop_now(server->loop);
    if (server->log_turn != turn || !server->log_time[0]) {
        server->log_turn = turn;
        timestamp_format(timestamp_now(), server->log_time);
    }
    return server->log_time;
}

static void add_number(struct buffer *log, const char *name, int64_t number)
{
    buffer_add_text(log, name);
    buffer_add_int64(log, number);
}

// Whatever identifies the request; `head` is the line's beginning after its time.
static void begin_line(struct http_server *server, const struct request *request, const char *head)
{
    struct buffer *log = &server->log;
    buffer_add_text(log, "{\"time\":\"");
    buffer_add_text(log, log_time(server));
    buffer_add_text(log, head);
    buffer_add_json(log, request->method.size <= 16 ? request->method : bytes_of("?"));
    buffer_add_text(log, ",\"route\":\"");
    buffer_add_text(log, request->route ? request->route->template : "");
    add_number(log, "\",\"status\":", request->status);
}

static void end_line(struct http_server *server, const struct request *request)
{
    struct buffer *log = &server->log;
    buffer_add_text(log, ",\"request_id\":\"");
    buffer_add_text(log, request->id);
    if (request->trace) {
        buffer_add_text(log, "\",\"trace_id\":\"");
        buffer_add_text(log, request->trace->trace_id);
        buffer_add_text(log, "\",\"span_id\":\"");
        buffer_add_text(log, request->trace->span_id);
    }
    buffer_add_text(log, "\"}\n");
}

static void log_access(struct http_server *server, const struct request *request, const struct times *times)
{
    if (!log_enabled(LOG_INFO))
        return;
    begin_line(server, request, "\",\"level\":\"info\",\"event\":\"request\",\"method\":");
    add_number(&server->log, ",\"bytes\":", (int64_t)request->reply_bytes);
    add_number(&server->log, ",\"us\":", times->whole);
    end_line(server, request);
}

static void log_slow(struct http_server *server, const struct request *request, const struct times *times)
{
    struct buffer *log = &server->log;
    if (!log_enabled(LOG_WARN))
        return;
    begin_line(server, request, "\",\"level\":\"warn\",\"event\":\"slow_request\",\"method\":");
    add_number(log, ",\"us\":", times->whole);
    add_number(log, ",\"received_us\":", times->parts[PART_RECEIVED]);
    add_number(log, ",\"queued_us\":", times->parts[PART_QUEUED]);
    add_number(log, ",\"database_us\":", times->parts[PART_DATABASE]);
    add_number(log, ",\"reply_us\":", times->parts[PART_REPLY]);
    end_line(server, request);
}

// --- the counts
// -------------------------------------------------------------------------------------------------------

static void count_parts(struct counts *counts, const struct request *request, const struct times *times)
{
    bool asked = request->account.answered != 0;
    for (int i = 0; i < REQUEST_PARTS; i++)
        if (asked || (i != PART_QUEUED && i != PART_DATABASE))
            histogram_add(&counts->parts[i], &bounds_duration, (uint64_t)times->parts[i]);
}

static void count_sizes(struct counts *counts, const struct request *request)
{
    size_t received = request->body.size + request->discarded;
    bool written = request->route && request->route->body == BODY_VALUE && request->status >= 200 &&
                   request->status < 300;
    if (received)
        histogram_add(&counts->request_bytes, &bounds_size, received);
    if (request->reply_bytes)
        histogram_add(&counts->reply_bytes, &bounds_size, request->reply_bytes);
    if (written)
        histogram_add(&counts->value_bytes, &bounds_size, request->body.size);
}

static void count_request(struct http_server *server, const struct request *request,
                          const struct times *times)
{
    struct counts *counts = server->options.counts;
    int place = request->route ? router_place(server->options.router, request->route) : -1;
    struct route_counts *by_route = counts_of_route(counts, place, request->method);
    count_status(by_route, request->status);
    count_sizes(counts, request);
    if (request->waits) {
        histogram_add(&counts->waits, &bounds_wait, (uint64_t)times->whole);
        return;
    }
    histogram_add(&by_route->duration, &bounds_duration, (uint64_t)times->whole);
    count_parts(counts, request, times);
}

void request_report(struct http_server *server, const struct request *request)
{
    struct times times = times_of(request, timestamp_monotonic());
    log_access(server, request, &times);
    count_request(server, request, &times);
    // One that waits for what others do is meant to take long.
    if (!server->options.slow || times.whole <= server->options.slow || request->waits)
        return;
    count_add(&server->options.counts->slow_requests, 1);
    log_slow(server, request, &times);
}
