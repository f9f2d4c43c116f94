// The life of a connection: opening, preparing the session, calls in flight, breaking, backing off.
#include "store/connection.h"

#include "base/log.h"
#include "base/timestamp.h"
#include "store/call_failure.h"
#include "store/call_report.h"
#include "store/internal.h"
#include "store/session.h"
#include "store/waiting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

enum {
    CALLS_IN_FLIGHT = 2, // one runs, one waits in the server, so that it never idles for a round trip
    WORTH_A_COMMIT =
        64, // operations for which a commit more is better than to join those that come meanwhile
    BACKOFF_FIRST = 100 * 1000,
    BACKOFF_LAST = 2 * 1000 * 1000,
    OPENING_LIMIT = 3 * 1000 * 1000,
    PATIENCE = 1000 * 1000, // how long operations wait for the first attempt after a loss
    AGE_CHECK = 250 * 1000,
};

static void connection_open(struct connection *connection);

static struct connection *from_timer(struct timer *timer)
{
    return (struct connection *)((char *)timer - offsetof(struct connection, timer));
}

// At most one line a second and connection, however fast attempts fail.
static void complain(struct connection *connection, const char *event, const char *detail)
{
    int64_t now = timestamp_monotonic();
    if (connection->last_complaint && now - connection->last_complaint < 1000 * 1000) {
        return;
    }
    log_detail(LOG_WARN, event, "%s connection: %s", counted_role_names[connection->role], detail);
    connection->last_complaint = now;
}

// libpq's message without its line ends.
static const char *message_of(PGconn *pg, char *out, size_t size)
{
    const char *message = pg ? PQerrorMessage(pg) : "";
    size_t length = 0;
    for (; *message && length + 1 < size; message++)
        out[length++] = *message == '\n' ? ' ' : *message;
    while (length && out[length - 1] == ' ')
        length--;
    out[length] = 0;
    return out;
}

static void interest(struct connection *connection, uint32_t events)
{
    loop_rewatch(connection->loop, &connection->watch, events);
}

// --- losing the connection
// --------------------------------------------------------------------------------------------

// Calls under way when the connection broke: what certainly did nothing goes back to its lane; a sent write
// is unknown.
static void settle_calls(struct connection *connection)
{
    struct call *unknown = NULL;
    struct call *back = NULL; // newest first, so that returning them one by one keeps their order
    struct call *call = connection->first;
    connection->first = NULL;
    connection->last = &connection->first;
    while (call) {
        struct call *next = call->next;
        PQclear(call->result);
        call->result = NULL;
        if (call->lane)
            call_count_loss(connection, call);
        bool did_nothing =
            !call->lane || !call->lane->statement->writes || !call->flushed || (call->failed && !call->fatal);
        struct call **list = did_nothing ? &back : &unknown;
        call->next = *list;
        *list = call;
        call = next;
    }
    connection->calls = 0;
    while (back) {
        call = back;
        back = back->next;
        if (call->lane) {
            connection->waiting += call->ordinals;
            call_return(call);
        }
        free(call);
    }
    while (unknown) {
        call = unknown;
        unknown = unknown->next;
        count_add(&connection->options->counts->unknown_outcomes, call->ordinals);
        call_finish(call, OUTCOME_UNKNOWN, "the connection to the database broke after the write was sent");
        free(call);
    }
}

static void close_socket(struct connection *connection)
{
    if (!connection->pg)
        return;
    if (connection->watch.fd >= 0)
        loop_unwatch(connection->loop, &connection->watch);
    connection->watch.fd = -1;
    PQfinish(connection->pg);
    connection->pg = NULL;
    connection->losses++;
    for (int i = 0; i < connection->lane_count; i++)
        lane_forget(&connection->lanes[i]);
}

static void back_off(struct connection *connection)
{
    connection->state = CONNECTION_AWAY;
    int64_t wait = connection->backoff;
    connection->backoff = wait * 2 > BACKOFF_LAST ? BACKOFF_LAST : wait * 2;
    // Spread over replicas and connections, or they all come back in the same instant.
    wait = wait / 2 + (int64_t)(random() % (wait / 2 + 1));
    loop_timer_set(connection->loop, &connection->timer, timestamp_monotonic() + wait);
}

// `reason` is told where libpq knows none.
static void connection_given_up(struct connection *connection, const char *event, const char *reason)
{
    char message[300];
    message_of(connection->pg, message, sizeof message);
    complain(connection, event, message[0] ? message : reason);
    bool was_ready = connection->state == CONNECTION_READY;
    close_socket(connection);
    connection->state = CONNECTION_AWAY;
    settle_calls(connection);
    // What has waited for the database's whole timeout already is not put off by it once more.
    waiting_drop_older(connection, timestamp_monotonic() - connection->options->timeout,
                       "the database does not answer");
    if (connection->role == ROLE_TRANSACTION) // what came before is gone, so nothing is sent again
        waiting_drop(connection, "the connection to the database broke");
    if (was_ready) {
        count_add(&connection->options->counts->losses[connection->role], 1);
        connection->backoff = BACKOFF_FIRST;
        connection->lost_while_ready = true;
        connection_open(connection);
        return;
    }
    connection->lost_while_ready = false;
    waiting_drop(connection, "the database cannot be reached");
    back_off(connection);
}

static void connection_lost(struct connection *connection, const char *event)
{
    connection_given_up(connection, event, "it broke");
}

// --- opening
// ----------------------------------------------------------------------------------------------------------

static bool poll_opening(struct connection *connection)
{
    switch (PQconnectPoll(connection->pg)) {
    case PGRES_POLLING_READING:
        connection->want_write = false;
        return true;
    case PGRES_POLLING_WRITING:
        connection->want_write = true;
        return true;
    case PGRES_POLLING_OK:
        connection->state = CONNECTION_SETUP;
        return true;
    default:
        return false;
    }
}

// libpq may use another socket after every step, and the kernel gives numbers of closed ones out again.
static bool watch_socket(struct connection *connection)
{
    int fd = PQsocket(connection->pg);
    if (connection->watch.fd >= 0)
        loop_unwatch(connection->loop, &connection->watch);
    connection->watch.fd = fd;
    return fd >= 0 &&
           loop_watch(connection->loop, &connection->watch, connection->want_write ? EPOLLOUT : EPOLLIN);
}

static void connection_open(struct connection *connection)
{
    char options[SESSION_TEXT];
    session_as_options(connection->role, connection->options->timeout, options);
    char name[40];
    snprintf(name, sizeof name, "holdfast %s/%d", counted_role_names[connection->role],
             connection->options->worker);
    // What stands before `dbname` is a default, which the address may change.
    const char *keys[] = {"target_session_attrs",
                          "dbname",
                          "client_encoding",
                          "fallback_application_name",
                          "keepalives_idle",
                          "tcp_user_timeout",
                          connection->options->pooled ? NULL : "options",
                          NULL};
    const char *values[] = {connection->options->choice ? "read-write" : "any",
                            connection->options->connection,
                            "UTF8",
                            name,
                            "10",
                            "15000",
                            options,
                            NULL};
    connection->state = CONNECTION_OPENING;
    connection->leaving = false;
    connection->opening_since = timestamp_monotonic();
    connection->pg = PQconnectStartParams(keys, values, 1);
    connection->want_write = true;
    if (!connection->pg || PQstatus(connection->pg) == CONNECTION_BAD || !watch_socket(connection)) {
        connection_lost(connection, "database_unreachable");
        return;
    }
    loop_timer_set(connection->loop, &connection->timer, timestamp_monotonic() + AGE_CHECK);
}

static void push_call(struct connection *connection, struct call *call)
{
    call->next = NULL;
    call->sent = timestamp_monotonic();
    count_add(&connection->options->counts->round_trips[connection->role], 1);
    *connection->last = call;
    connection->last = &call->next;
}

static struct call *call_new(void)
{
    struct call *call = calloc(1, sizeof *call);
    if (!call)
        abort();
    return call;
}

static bool flush_socket(struct connection *connection)
{
    int left = PQflush(connection->pg);
    if (left < 0)
        return false;
    if (left == 0) {
        for (struct call *call = connection->first; call; call = call->next)
            call->flushed = true;
    }
    bool want_write = left > 0;
    if (want_write != connection->want_write) {
        connection->want_write = want_write;
        interest(connection, want_write ? EPOLLIN | EPOLLOUT : EPOLLIN);
    }
    return true;
}

// True when there is nothing to say, or it was handed to libpq.
static bool send_pooled_options(struct connection *connection, struct call *call)
{
    const struct statement *statement = call->lane ? call->lane->statement : NULL;
    bool within = connection->role == ROLE_TRANSACTION && statement && !statement->begins;
    if (!connection->options->pooled || within)
        return true;
    char sql[SESSION_TEXT];
    session_as_statement(connection->role, connection->options->timeout, statement && !statement->only_reads,
                         sql);
    call->led = true;
    return PQsendQueryParams(connection->pg, sql, 0, NULL, NULL, NULL, NULL, 1);
}

// A writer lifts the sequence `revision` before its first write: the database may be a restored dump, a
// clone, or a standby that never saw the last commits.
static bool send_setup(struct connection *connection)
{
    const char *sql = session_only_reads(connection->role)
                          ? "select holdfast.schema_version(), current_setting('search_path')"
                          : "select holdfast.lift_revision(), current_setting('search_path')";
    struct call *call = call_new();
    push_call(connection, call);
    return send_pooled_options(connection, call) &&
           PQsendQueryParams(connection->pg, sql, 0, NULL, NULL, NULL, NULL, 1) &&
           PQpipelineSync(connection->pg) && flush_socket(connection);
}

static void ignore_notice(void *user, const PGresult *result)
{
    (void)user;
    (void)result;
}

static void begin_session(struct connection *connection)
{
    PQsetnonblocking(connection->pg, 1);
    PQsetNoticeReceiver(connection->pg, ignore_notice, NULL);
    PQenterPipelineMode(connection->pg);
    connection->want_write = false;
    interest(connection, EPOLLIN);
    if (!send_setup(connection))
        connection_lost(connection, "database_lost");
}

static void session_ready(struct connection *connection)
{
    if (connection->state == CONNECTION_READY)
        return;
    connection->state = CONNECTION_READY;
    if (connection->losses)
        count_add(&connection->options->counts->reconnects[connection->role], 1);
    connection->backoff = BACKOFF_FIRST;
    connection->lost_while_ready = false;
    connection_flush(connection);
}

// --- answers
// ----------------------------------------------------------------------------------------------------------

static void call_again(struct connection *connection, struct call *call, bool alone)
{
    bool tired = false;
    for (int i = 0; i < call->count; i++)
        for (struct operation *operation = call->operations[i]; operation;
             operation = operation->stands_for) {
            operation->alone = operation->alone || alone;
            tired = ++operation->attempts > CALL_ATTEMPTS || tired;
        }
    if (tired) {
        call_finish(call, OUTCOME_FAILED, "the database refused it again and again");
        return;
    }
    connection->waiting += call->ordinals;
    call_return(call);
}

// A connection whose calls each stand alone: what can be tried again is.
static void refused_alone(struct connection *connection, struct call *call)
{
    if (call_is_unprepared(call) || call_is_redefined(call) || call_failed_in_class(call, "42"))
        lane_forget(call->lane);
    if (call_failed_with(call, "HF001")) { // the tables were restored under us
        if (connection->state == CONNECTION_READY && !send_setup(connection))
            connection_lost(connection, "database_lost");
        call_count_refusal(connection, CALL_REPEATED);
        call_again(connection, call, false);
    } else if (call_is_unprepared(call) || call_is_redefined(call) || call_failed_in_class(call, "40")) {
        call_count_refusal(connection, CALL_REPEATED);
        call_again(connection, call, false);
    } else if (call_failure_passes(call)) {
        call_count_refusal(connection, CALL_PUT_OFF);
        call_complain(connection, LOG_WARN, "statement_put_off", call);
        call_finish(call, OUTCOME_UNAVAILABLE, "the database cannot do this now");
    } else if (call->ordinals > 1) {
        call_count_refusal(connection, CALL_SPLIT);
        call_complain(connection, LOG_ERROR, "call_split", call);
        call_again(connection, call, true);
    } else {
        call_count_refusal(connection, CALL_FAILED);
        call_complain(connection, LOG_ERROR, "statement_failed", call);
        call_finish(call, OUTCOME_FAILED, NULL);
    }
}

// A call that belonged to a transaction, which has failed with it: only the whole can be done again, by its
// owner.
static void refused_in_transaction(struct connection *connection, struct call *call)
{
    bool restored = call_failed_with(call, "HF001"); // a new session lifts the revision
    bool again = restored || call_is_unprepared(call) || call_failed_in_class(call, "40");
    bool replaced = call_is_redefined(call);
    lane_forget(call->lane);
    if (!connection->failed) // what follows in a failed transaction fails of itself
        connection->worth_again = again || replaced;
    connection->failed = true;
    if (again || (!replaced && call_failure_passes(call))) {
        call_count_refusal(connection, CALL_PUT_OFF);
        call_finish(call, OUTCOME_UNAVAILABLE, "the database cannot do this now");
    } else {
        call_count_refusal(connection, replaced ? CALL_REPEATED : CALL_FAILED);
        call_complain(connection, replaced ? LOG_WARN : LOG_ERROR,
                      replaced ? "statement_put_off" : "statement_failed", call);
        call_finish(call, OUTCOME_FAILED, NULL);
    }
    if (restored)
        connection_renew(connection);
}

static void note_failure(struct call *call, PGresult *result)
{
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    // A session that ends after the rows came may have committed already.
    bool after_rows = call->result != NULL;
    bool error = severity && strcmp(severity, "ERROR") == 0;
    if (!call->failed && (sqlstate || PQresultStatus(result) != PGRES_PIPELINE_ABORTED))
        snprintf(call->sqlstate, sizeof call->sqlstate, "%s", sqlstate ? sqlstate : "");
    call->failed = true;
    call->fatal = !sqlstate || (!error && after_rows);
    PQclear(result);
}

// Takes finished calls off the front; gives them as a list, oldest first. False when the connection is
// broken.
static bool take_answers(struct connection *connection, struct call **done)
{
    struct call **tail = done;
    *done = NULL;
    if (!PQconsumeInput(connection->pg))
        return false;
    while (connection->first && !PQisBusy(connection->pg)) {
        struct call *call = connection->first;
        PGresult *result = PQgetResult(connection->pg);
        if (!result)
            continue;
        switch (PQresultStatus(result)) {
        case PGRES_TUPLES_OK:
            if (call->led) {
                call->led = false;
                PQclear(result);
                break;
            }
            PQclear(call->result);
            call->result = result;
            break;
        case PGRES_COMMAND_OK: // a command says which it was; that a statement was prepared has no name
            if (*PQcmdStatus(result)) {
                PQclear(call->result);
                call->result = result;
                break;
            }
            PQclear(result);
            break;
        case PGRES_PIPELINE_SYNC: // committed, or rolled back
            PQclear(result);
            connection->first = call->next;
            if (!connection->first)
                connection->last = &connection->first;
            call->next = NULL;
            *tail = call;
            tail = &call->next;
            break;
        default:
            note_failure(call, result);
            if (PQstatus(connection->pg) == CONNECTION_BAD)
                return false;
            break;
        }
    }
    return PQstatus(connection->pg) != CONNECTION_BAD;
}

// A pooler that was not spoken of: it drops what a session was asked to be, or gives it to somebody else.
static bool has_our_options(const struct call *call)
{
    return call->result && PQntuples(call->result) == 1 &&
           strcmp(PQgetvalue(call->result, 0, 1), "pg_catalog") == 0;
}

static void setup_answered(struct connection *connection, const struct call *call, bool *usable)
{
    *usable = *usable && !call->failed && has_our_options(call);
    if (call->failed && call_failed_with(call, "HF002"))
        log_detail(LOG_ERROR, "database_unfit",
                   "the pooler's sessions begin transactions above read committed: set "
                   "default_transaction_isolation of the role or the database");
    else if (call->failed)
        log_event(LOG_ERROR, "database_not_migrated", "sqlstate", call->sqlstate, NULL);
    else if (!has_our_options(call))
        log_detail(LOG_ERROR, "database_unfit",
                   "--database leads through a pooler: the server's own address must be "
                   "given with --listen-database");
    else
        session_ready(connection);
}

static void tell_changes(const struct connection *connection, const struct call *call)
{
    const struct store_options *options = connection->options;
    if (!call->lane->statement->changes_entries || !options->changed || connection->role == ROLE_TRANSACTION)
        return;
    for (int i = 0; i < call->count; i++)
        options->changed(options->user, call->operations[i]->bucket, call->operations[i]->key);
}

static void answered(struct connection *connection, struct call *call)
{
    tell_changes(connection, call);
    call_count_answer(connection, call);
    call_deliver(call);
}

static void take_calls(struct connection *connection)
{
    struct call *done;
    bool usable = take_answers(connection, &done);
    for (struct call *call = done; call; call = call->next) {
        if (call->lane)
            connection->calls--;
        if (call_failed_with(call, "25006"))
            connection->leaving = true;
    }
    // The server gets its next call before the answers of the last one are dealt with: both work at once
    // then. Through a pooler a setup, which an answer may ask for, must be the only call under way.
    if (usable && !connection->options->pooled)
        connection_flush(connection);
    while (done) {
        struct call *call = done;
        done = done->next;
        if (!call->lane)
            setup_answered(connection, call, &usable);
        else if (!call->failed && call->result)
            answered(connection, call);
        else
            connection->refused(connection, call);
        PQclear(call->result);
        free(call);
    }
    // Dropped with calls under way, it could not tell of those whether they did anything.
    if (connection->leaving && !connection->first)
        usable = false;
    if (!usable && connection->pg)
        connection_lost(connection, "database_lost");
}

static void socket_ready(struct watch *watch, uint32_t events)
{
    struct connection *connection = (struct connection *)watch;
    if (!connection->pg)
        return;
    if (connection->state == CONNECTION_OPENING) {
        if (!poll_opening(connection) || !watch_socket(connection))
            connection_lost(connection, "database_unreachable");
        else if (connection->state == CONNECTION_SETUP)
            begin_session(connection);
        return;
    }
    if ((events & EPOLLOUT) && !flush_socket(connection)) {
        connection_lost(connection, "database_lost");
        return;
    }
    if (events & ~(uint32_t)EPOLLOUT)
        take_calls(connection);
}

// A service that just began opens many connections at once, and none of them is known to be bad.
static int64_t patience(const struct connection *connection)
{
    return connection->losses ? PATIENCE : OPENING_LIMIT;
}

// Servers say so when they change. Of several, one that takes no writes is one whose reads grow old.
static bool takes_no_writes(const struct connection *connection)
{
    const char *const settings[] = {"default_transaction_read_only", "in_hot_standby"};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        const char *value = PQparameterStatus(connection->pg, settings[i]);
        if (value && strcmp(value, "on") == 0)
            return true;
    }
    return false;
}

static void timer_fired(struct timer *timer)
{
    struct connection *connection = from_timer(timer);
    int64_t now = timestamp_monotonic();
    if (connection->state == CONNECTION_AWAY) {
        connection_open(connection);
        return;
    }
    if (connection->state == CONNECTION_READY || connection->state == CONNECTION_SETUP) {
        if (connection->first && now - connection->first->sent > connection->options->timeout) {
            connection_given_up(connection, "database_silent", "no answer in time");
            return;
        }
    }
    if (connection->state == CONNECTION_READY && connection->options->choice && takes_no_writes(connection)) {
        connection->leaving = true;
        if (!connection->first) {
            connection_given_up(connection, "database_read_only", "it takes no more writes");
            return;
        }
    }
    if (connection->state != CONNECTION_READY) {
        int64_t age = now - connection->opening_since;
        if (age > patience(connection))
            waiting_drop(connection, "the database does not answer");
        if (age > OPENING_LIMIT) {
            connection_lost(connection, "database_unreachable");
            return;
        }
    }
    loop_timer_set(connection->loop, &connection->timer, now + AGE_CHECK);
}

// --- operations
// -------------------------------------------------------------------------------------------------------

void connection_start(struct connection *connection, struct loop *loop, const struct store_options *options,
                      enum store_role role)
{
    *connection = (struct connection){
        .watch = {.fd = -1, .ready = socket_ready},
        .timer = {.fire = timer_fired},
        .loop = loop,
        .options = options,
        .role = role,
        .refused = role == ROLE_TRANSACTION ? refused_in_transaction : refused_alone,
        .backoff = BACKOFF_FIRST,
    };
    connection->last = &connection->first;
}

void connection_need(struct connection *connection)
{
    if (connection->state == CONNECTION_UNUSED)
        connection_open(connection);
}

void connection_stop(struct connection *connection)
{
    loop_timer_clear(connection->loop, &connection->timer);
    close_socket(connection);
    connection->state = CONNECTION_AWAY;
    settle_calls(connection);
    waiting_drop(connection, "the service is shutting down");
    buffer_free(&connection->scratch);
}

static struct lane *lane_of(struct connection *connection, const struct statement *statement)
{
    for (int i = 0; i < connection->lane_count; i++)
        if (connection->lanes[i].statement == statement)
            return &connection->lanes[i];
    if (connection->lane_count == CONNECTION_LANES)
        abort(); // more statements than lanes is a mistake in the program
    struct lane *lane = &connection->lanes[connection->lane_count++];
    *lane = (struct lane){.statement = statement};
    lane->tail = &lane->head;
    return lane;
}

static size_t operation_size(const struct operation *operation)
{
    const struct statement *statement = operation->statement;
    size_t size = operation->bucket.size;
    unsigned values = statement->columns;
    if (statement->form == STATEMENT_GROUPED) {
        values *= operation->item_count;
        for (unsigned i = 0; i < operation->item_count; i++)
            size += operation->items[i].bucket.size;
    }
    for (unsigned i = 0; i < values; i++)
        size += operation->values[i].bytes.size + 8;
    return size;
}

void connection_observe(const struct connection *connection, struct store_standing *standing)
{
    standing->queued[connection->role] += connection->waiting;
    standing->ready[connection->role] += connection->state == CONNECTION_READY;
    standing->wanted[connection->role] += connection->state != CONNECTION_UNUSED;
}

bool connection_good(const struct connection *connection)
{
    return connection->state == CONNECTION_READY || connection->state == CONNECTION_UNUSED;
}

bool connection_patient(const struct connection *connection)
{
    if (connection_good(connection))
        return true;
    return connection->state != CONNECTION_AWAY &&
           timestamp_monotonic() - connection->opening_since < patience(connection);
}

void connection_submit(struct connection *connection, struct operation *operation)
{
    connection_need(connection);
    if (!connection_patient(connection)) {
        operation_finish(operation, OUTCOME_UNAVAILABLE, "the database cannot be reached");
        return;
    }
    if (connection->waiting >= connection->options->queue_limit) {
        count_add(&connection->options->counts->capacity_refusals[CAPACITY_DATABASE_QUEUE], 1);
        operation_finish(operation, OUTCOME_UNAVAILABLE, "too many requests wait for the database");
        return;
    }
    struct lane *lane = lane_of(connection, operation->statement);
    operation->next = NULL;
    operation->stands_for = NULL;
    operation->attempts = 0;
    operation->alone = false;
    operation->submitted = loop_now(connection->loop);
    operation->waits_since = operation->submitted;
    operation->turn = connection->turn++;
    operation->size = operation_size(operation);
    if (operation->statement->keys == KEYS_ONCE)
        operation->key_hash = bytes_hash(operation->key, bytes_hash(operation->bucket, 0));
    *lane->tail = operation;
    lane->tail = &operation->next;
    connection->waiting++;
}

static struct lane *oldest_lane(struct connection *connection)
{
    struct lane *oldest = NULL;
    for (int i = 0; i < connection->lane_count; i++) {
        struct lane *lane = &connection->lanes[i];
        if (lane->head && (!oldest || lane->head->turn < oldest->head->turn))
            oldest = lane;
    }
    return oldest;
}

static bool send_call(struct connection *connection, struct call *call)
{
    if (connection->options->pooled)
        return send_pooled_options(connection, call) &&
               call_send_unprepared(call, connection->pg, &connection->scratch);
    return call_send(call, connection->pg, &connection->scratch);
}

// A pooler lends a session to somebody else as soon as it has answered, were the next call half sent: what
// follows goes to another session then, and the one that has the half is lost to whoever has it next.
static bool may_send(const struct connection *connection)
{
    if (connection->options->pooled)
        return !connection->first;
    if (connection->role == ROLE_WRITE && connection->calls)
        return connection->calls < CALLS_IN_FLIGHT && connection->waiting >= WORTH_A_COMMIT;
    return connection->calls < CALLS_IN_FLIGHT;
}

void connection_flush(struct connection *connection)
{
    if (connection->state != CONNECTION_READY || connection->leaving || !connection->waiting)
        return;
    bool sent = false;
    while (connection->waiting && may_send(connection)) {
        struct lane *lane = oldest_lane(connection);
        struct call *call = call_new();
        call_gather(call, lane);
        connection->waiting -= call->ordinals;
        connection->calls++;
        push_call(connection, call);
        sent = true;
        if (!send_call(connection, call)) {
            connection_lost(connection, "database_lost");
            return;
        }
    }
    if (sent && !flush_socket(connection))
        connection_lost(connection, "database_lost");
}

void connection_add_under_way(const struct connection *connection, struct store_under_way *all)
{
    for (const struct call *call = connection->first; call; call = call->next) {
        all->operations += call->ordinals;
        all->writes = all->writes || (call->lane && call->lane->statement->writes);
    }
}

bool connection_idle(const struct connection *connection)
{
    return !connection->waiting && !connection->calls;
}

void connection_renew(struct connection *connection)
{
    if (connection->pg)
        connection_given_up(connection, "database_session_ended", "what it did was not to be kept");
}
