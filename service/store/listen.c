// The listening session: one statement at a time takes and gives up the locks that make writers tell, and
// finds out whether what they tell still arrives.
//
// There is one in each worker, since workers share nothing. It holds the lock of class 7240004 shared for
// every bucket that somebody here waits on (holdfast.announce() has the other side). A bucket whose lock it
// cannot have now, because a writer sits on it, because too many are held or because the session is away, is
// looked at once a second instead.
#include "store/listen.h"

#include "base/buffer.h"
#include "base/log.h"
#include "base/timestamp.h"
#include "store/interests.h"
#include "store/reach.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/random.h>

enum {
    MOST_LOCKS = 1000, // all sessions' locks together share the server's one table
    LEAST_LOCKS = 16,  // when that table is full
    MOST_IN_A_STATEMENT = 100,
    LINGER = 5 * 1000 * 1000, // how long the lock of a bucket that nobody waits on is kept
    TICK = 250 * 1000,
    LOOK_EVERY = 1000 * 1000, // at what is not covered
    BEAT_EVERY = 2 * 1000 * 1000,
    ANSWER_LIMIT = 2 * 1000 * 1000,
    OPENING_LIMIT = 3 * 1000 * 1000,
    BACKOFF_FIRST = 100 * 1000,
    BACKOFF_LAST = 2 * 1000 * 1000,
};

// A lock is waited for no longer than this: what is told about other buckets waits behind it.
#define LOCK_WAIT "100ms"

enum session_state {
    SESSION_AWAY,
    SESSION_OPENING,
    SESSION_SETUP, // connected; nothing counts on it before it has heard itself
    SESSION_READY,
};

enum task {
    TASK_NONE,
    TASK_LISTEN,
    TASK_BEAT,
    TASK_TRY,
    TASK_LOCK,
    TASK_RELEASE,
};

struct listen {
    struct watch watch; // first: a pointer to it is a pointer to the session
    struct timer tick;
    struct timer work; // once, in this turn or the next: sends a statement and calls who is due
    struct loop *loop;
    const char *connection;
    struct counts *counts;
    PGconn *pg;
    enum session_state state;
    bool want_write;
    enum task task; // the statement under way
    bool failed;    // it was refused
    int64_t sent;
    struct waited_bucket *asked[MOST_IN_A_STATEMENT]; // what it is about
    int asked_count;
    bool granted[MOST_IN_A_STATEMENT];
    bool lost;      // it was ready once, and not since
    bool read_only; // what the server said of itself
    char beat[18];  // the heartbeat's notification
    bool beat_heard;
    int64_t beat_at; // when the next is due
    bool to_choose;  // there may be something to ask for
    int64_t looked_at;
    int64_t opening_since;
    int64_t open_at; // while away: the next attempt
    int64_t backoff;
    int64_t last_complaint;
    unsigned locks;      // held, asked for or being given up
    unsigned most_locks; // MOST_LOCKS, or less since the server had no room for so many
    void (*tokens_changed)(void *user);
    void *tokens_user;
    struct interests all;
    struct buffer scratch;
};

static void session_open(struct listen *listen);

static void soon(struct listen *listen)
{
    if (!listen->work.slot)
        loop_timer_set(listen->loop, &listen->work, loop_now(listen->loop));
}

// At most one line a second, however fast attempts fail.
static void complain(struct listen *listen, const char *event, const char *detail)
{
    int64_t now = timestamp_monotonic();
    if (listen->last_complaint && now - listen->last_complaint < 1000 * 1000)
        return;
    char line[300];
    size_t size = 0;
    for (; *detail && size + 1 < sizeof line; detail++)
        line[size++] = *detail == '\n' ? ' ' : *detail;
    line[size] = 0;
    log_detail(LOG_WARN, event, "listening connection: %s", line);
    listen->last_complaint = now;
}

// --- losing the session
// -----------------------------------------------------------------------------------------------

static void close_socket(struct listen *listen)
{
    if (listen->watch.fd >= 0)
        loop_unwatch(listen->loop, &listen->watch);
    listen->watch.fd = -1;
    PQfinish(listen->pg);
    listen->pg = NULL;
}

// Nothing is told any more: who waits is looked after by the clock, who has just come as well.
static void uncover_all(struct listen *listen)
{
    struct waited_bucket *bucket, *next;
    HASH_ITER(hh, listen->all.buckets, bucket, next)
    {
        bucket->cover = COVER_NONE;
        bucket->try_after = 0;
        interests_mark_bucket(&listen->all, bucket);
    }
    listen->locks = 0;
    listen->looked_at = timestamp_monotonic();
    soon(listen);
}

static void session_lost(struct listen *listen, const char *event, const char *detail)
{
    bool was_ready = listen->state == SESSION_READY;
    if (was_ready) {
        listen->lost = true;
        count_add(&listen->counts->losses[COUNTED_LISTEN], 1);
    }
    complain(listen, event, detail ? detail : listen->pg ? PQerrorMessage(listen->pg) : "");
    close_socket(listen);
    listen->state = SESSION_AWAY;
    listen->task = TASK_NONE;
    listen->asked_count = 0;
    if (was_ready) {
        listen->backoff = BACKOFF_FIRST;
        uncover_all(listen);
    }
    int64_t wait = listen->backoff;
    listen->backoff = wait * 2 > BACKOFF_LAST ? BACKOFF_LAST : wait * 2;
    // Spread over replicas and workers, or they all come back in the same instant.
    listen->open_at = timestamp_monotonic() + wait / 2 + (int64_t)(random() % (wait / 2 + 1));
    soon(listen);
}

// --- statements
// -------------------------------------------------------------------------------------------------------

static void interest_in_socket(struct listen *listen, bool want_write)
{
    if (want_write != listen->want_write)
        loop_rewatch(listen->loop, &listen->watch, want_write ? EPOLLIN | EPOLLOUT : EPOLLIN);
    listen->want_write = want_write;
}

static void begin(struct listen *listen, enum task task, int sent)
{
    listen->task = task;
    listen->failed = false;
    listen->sent = timestamp_monotonic();
    count_add(&listen->counts->round_trips[COUNTED_LISTEN], 1);
    int left = sent ? PQflush(listen->pg) : -1;
    if (left < 0)
        session_lost(listen, "database_lost", NULL);
    else
        interest_in_socket(listen, left > 0);
}

static void send_listen(struct listen *listen)
{
    begin(listen, TASK_LISTEN,
          PQsendQuery(listen->pg,
                      "listen holdfast; select pg_catalog.current_setting('transaction_read_only')"));
}

// A notification to oneself shows that what others tell arrives too, which an answer alone does not: a proxy
// may have given the session to another server process.
static void send_beat(struct listen *listen)
{
    static const char sql[] =
        "select pg_catalog.current_setting('transaction_read_only'), pg_catalog.pg_notify('holdfast', $1)";
    uint64_t random_number = 0;
    ssize_t got = getrandom(&random_number, sizeof random_number, 0);
    (void)got; // any number serves
    snprintf(listen->beat, sizeof listen->beat, "!%016llx", (unsigned long long)random_number);
    const char *values[] = {listen->beat};
    listen->beat_heard = false;
    listen->beat_at = timestamp_monotonic() + BEAT_EVERY;
    begin(listen, TASK_BEAT, PQsendQueryParams(listen->pg, sql, 1, NULL, values, NULL, NULL, 0));
}

// While nobody waits an answer is enough, and the database may be at rest.
static void send_quiet_beat(struct listen *listen)
{
    listen->beat_at = timestamp_monotonic() + BEAT_EVERY;
    begin(listen, TASK_BEAT,
          PQsendQuery(listen->pg, "select pg_catalog.current_setting('transaction_read_only')"));
}

// Names as the binary form of text[].
static void encode_names(struct listen *listen)
{
    struct buffer *out = &listen->scratch;
    buffer_clear(out);
    buffer_add_u32(out, 1); // dimensions
    buffer_add_u32(out, 0); // no nulls
    buffer_add_u32(out, 25);
    buffer_add_u32(out, (uint32_t)listen->asked_count);
    buffer_add_u32(out, 1); // the first index
    for (int i = 0; i < listen->asked_count; i++) {
        buffer_add_u32(out, (uint32_t)listen->asked[i]->name.size);
        buffer_add_bytes(out, listen->asked[i]->name);
    }
}

static void send_names(struct listen *listen, enum task task, const char *sql)
{
    static const Oid text_array[] = {1009};
    encode_names(listen);
    const char *values[] = {(const char *)listen->scratch.data};
    const int lengths[] = {(int)listen->scratch.size};
    const int formats[] = {1};
    begin(listen, task, PQsendQueryParams(listen->pg, sql, 1, text_array, values, lengths, formats, 0));
}

static void ask(struct listen *listen, struct waited_bucket *bucket, enum cover cover)
{
    bucket->cover = cover;
    listen->asked[listen->asked_count++] = bucket;
}

static bool may_try(const struct listen *listen, const struct waited_bucket *bucket, int64_t now)
{
    return bucket->cover == COVER_NONE && bucket->interests && now >= bucket->try_after &&
           listen->locks < listen->most_locks;
}

// When locks are scarce nothing is kept for those who may come back.
static bool may_release(const struct listen *listen, const struct waited_bucket *bucket, int64_t now)
{
    return bucket->cover == COVER_HELD && !bucket->interests &&
           (listen->locks >= listen->most_locks || now - bucket->alone_since > LINGER);
}

// Chooses what is asked for next; false when there is nothing.
static bool choose(struct listen *listen, enum task *task)
{
    int64_t now = timestamp_monotonic();
    struct waited_bucket *bucket, *next, *queued = NULL;
    listen->asked_count = 0;
    *task = TASK_TRY;
    HASH_ITER(hh, listen->all.buckets, bucket, next)
    {
        if (bucket->cover == COVER_QUEUED)
            queued = bucket;
        if (listen->asked_count < MOST_IN_A_STATEMENT && may_try(listen, bucket, now)) {
            ask(listen, bucket, COVER_TRYING);
            listen->locks++;
        }
    }
    if (listen->asked_count)
        return true;
    if (queued) {
        *task = TASK_LOCK;
        ask(listen, queued, COVER_LOCKING);
        return true;
    }
    *task = TASK_RELEASE;
    HASH_ITER(hh, listen->all.buckets, bucket, next)
    if (listen->asked_count < MOST_IN_A_STATEMENT && may_release(listen, bucket, now))
        ask(listen, bucket, COVER_RELEASING);
    return listen->asked_count > 0;
}

static void send_next(struct listen *listen)
{
    static const char try_sql[] =
        "select pg_catalog.pg_try_advisory_lock_shared(7240004, pg_catalog.hashtext(n)) "
        "from unnest($1) n";
    static const char lock_sql[] =
        "select pg_catalog.pg_advisory_lock_shared(7240004, pg_catalog.hashtext($1[1]))";
    static const char release_sql[] =
        "select pg_catalog.pg_advisory_unlock_shared(7240004, pg_catalog.hashtext(n)) from unnest($1) n";
    enum task task;
    if (listen->state < SESSION_SETUP || listen->task != TASK_NONE)
        return;
    if (timestamp_monotonic() >= listen->beat_at) {
        if (!listen->beat_heard)
            session_lost(listen, "database_lost", "notifications do not arrive");
        else if (listen->state == SESSION_READY && !listen->all.buckets)
            send_quiet_beat(listen);
        else
            send_beat(listen);
        return;
    }
    if (listen->state == SESSION_SETUP || !listen->to_choose)
        return;
    listen->to_choose = choose(listen, &task);
    if (listen->to_choose)
        send_names(listen, task, task == TASK_TRY ? try_sql : task == TASK_LOCK ? lock_sql : release_sql);
}

// --- their answers
// ----------------------------------------------------------------------------------------------------

static void covered(struct listen *listen, struct waited_bucket *bucket)
{
    bucket->cover = COVER_HELD;
    interests_mark_bucket(&listen->all, bucket); // what committed before was told to nobody
}

// Not to be had now: those who wait are served by the clock until it is tried again.
static void uncovered(struct listen *listen, struct waited_bucket *bucket)
{
    bucket->cover = COVER_NONE;
    bucket->try_after = timestamp_monotonic() + LOOK_EVERY;
    listen->locks--;
    interests_mark_bucket(&listen->all, bucket);
}

static void released(struct listen *listen, struct waited_bucket *bucket)
{
    listen->locks--;
    bucket->cover = COVER_NONE;
    bucket->try_after = 0;
    if (!bucket->interests)
        interests_forget_bucket(&listen->all, bucket);
}

static void settle(struct listen *listen, enum task task)
{
    for (int i = 0; i < listen->asked_count; i++) {
        struct waited_bucket *bucket = listen->asked[i];
        if (task == TASK_RELEASE)
            released(listen, bucket);
        else if (listen->failed) // the wait for it took too long
            uncovered(listen, bucket);
        else if (task == TASK_LOCK || listen->granted[i])
            covered(listen, bucket);
        else
            bucket->cover = COVER_QUEUED;
    }
    listen->asked_count = 0;
}

// Some may have been taken before the statement failed: only the session's end tells for sure.
static void locks_refused(struct listen *listen)
{
    listen->most_locks = listen->locks / 2 < LEAST_LOCKS ? LEAST_LOCKS : listen->locks / 2;
    session_lost(listen, "database_lost", NULL);
}

static void task_done(struct listen *listen)
{
    enum task task = listen->task;
    bool about_itself = task == TASK_LISTEN || task == TASK_BEAT;
    listen->task = TASK_NONE;
    listen->to_choose = true;
    if (about_itself && (listen->failed || listen->read_only))
        session_lost(listen, "database_lost", listen->failed ? NULL : "the server takes no writes");
    else if (listen->failed && task != TASK_LOCK)
        locks_refused(listen);
    else if (!about_itself)
        settle(listen, task);
    soon(listen);
}

static void heard_itself(struct listen *listen)
{
    listen->state = SESSION_READY;
    if (listen->lost)
        count_add(&listen->counts->reconnects[COUNTED_LISTEN], 1);
    listen->lost = false;
    listen->backoff = BACKOFF_FIRST;
    listen->to_choose = true;
    soon(listen);
}

static void take_result(struct listen *listen, const PGresult *result)
{
    if (PQresultStatus(result) == PGRES_TUPLES_OK) {
        if (listen->task == TASK_LISTEN || listen->task == TASK_BEAT)
            listen->read_only = strcmp(PQgetvalue(result, 0, 0), "on") == 0;
        for (int i = 0; listen->task == TASK_TRY && i < listen->asked_count; i++)
            listen->granted[i] = i < PQntuples(result) && PQgetvalue(result, i, 0)[0] == 't';
    } else if (PQresultStatus(result) != PGRES_COMMAND_OK) {
        listen->failed = true;
    }
}

// Among them are the heartbeats of others, which tell of no change.
static void take_told(struct listen *listen, const char *notification)
{
    if (notification[0] == '!')
        return;
    count_add(&listen->counts->notifications, 1);
    interests_mark_told(&listen->all, notification);
}

static void take_notifications(struct listen *listen)
{
    PGnotify *notification;
    while ((notification = PQnotifies(listen->pg))) {
        if (strcmp(notification->extra, listen->beat) == 0)
            listen->beat_heard = true;
        else if (strcmp(notification->extra, "t") == 0 && listen->tokens_changed)
            listen->tokens_changed(listen->tokens_user);
        else
            take_told(listen, notification->extra);
        PQfreemem(notification);
    }
}

static void take_input(struct listen *listen)
{
    bool whole = true;
    if (!PQconsumeInput(listen->pg)) {
        session_lost(listen, "database_lost", NULL);
        return;
    }
    while (listen->task != TASK_NONE && whole && !PQisBusy(listen->pg)) {
        PGresult *result = PQgetResult(listen->pg);
        if (result)
            take_result(listen, result);
        else
            whole = false;
        PQclear(result);
    }
    take_notifications(listen);
    if (PQstatus(listen->pg) == CONNECTION_BAD)
        session_lost(listen, "database_lost", NULL);
    else if (!whole)
        task_done(listen);
    if (listen->state == SESSION_SETUP && listen->task == TASK_NONE && listen->beat_heard && listen->beat[0])
        heard_itself(listen);
    interests_call_due(&listen->all);
}

// --- opening
// ----------------------------------------------------------------------------------------------------------

// libpq may use another socket after every step, and the kernel gives numbers of closed ones out again.
static bool watch_socket(struct listen *listen)
{
    if (listen->watch.fd >= 0)
        loop_unwatch(listen->loop, &listen->watch);
    listen->watch.fd = PQsocket(listen->pg);
    return listen->watch.fd >= 0 &&
           loop_watch(listen->loop, &listen->watch, listen->want_write ? EPOLLOUT : EPOLLIN);
}

static void ignore_notice(void *user, const PGresult *result)
{
    (void)user;
    (void)result;
}

static void session_opened(struct listen *listen)
{
    listen->state = SESSION_SETUP;
    listen->want_write = false;
    PQsetnonblocking(listen->pg, 1);
    PQsetNoticeReceiver(listen->pg, ignore_notice, NULL);
    loop_rewatch(listen->loop, &listen->watch, EPOLLIN);
    listen->read_only = false;
    listen->beat[0] = 0;
    listen->beat_heard = true; // none is missing
    listen->beat_at = 0;
    send_listen(listen);
}

static void poll_opening(struct listen *listen)
{
    PostgresPollingStatusType status = PQconnectPoll(listen->pg);
    listen->want_write = status == PGRES_POLLING_WRITING;
    if (status == PGRES_POLLING_FAILED || !watch_socket(listen))
        session_lost(listen, "database_unreachable", NULL);
    else if (status == PGRES_POLLING_OK)
        session_opened(listen);
}

static void session_open(struct listen *listen)
{
    static const char options[] =
        "-c search_path=pg_catalog -c statement_timeout=0 -c lock_timeout=" LOCK_WAIT
        " -c default_transaction_isolation=read\\ committed -c jit=off "
        "-c client_min_messages=error -c synchronous_commit=off "
        "-c idle_in_transaction_session_timeout=0";
    // What stands before `dbname` is a default, which the address may change.
    static const char *const keys[] = {
        "target_session_attrs",      "dbname",          "options",          "client_encoding",
        "fallback_application_name", "keepalives_idle", "tcp_user_timeout", NULL};
    const char *values[] = {reach_is_choice(listen->connection) ? "read-write" : "any",
                            listen->connection,
                            options,
                            "UTF8",
                            "holdfast listen",
                            "10",
                            "15000",
                            NULL};
    listen->state = SESSION_OPENING;
    listen->opening_since = timestamp_monotonic();
    listen->pg = PQconnectStartParams(keys, values, 1);
    listen->want_write = true;
    if (!listen->pg || PQstatus(listen->pg) == CONNECTION_BAD || !watch_socket(listen))
        session_lost(listen, "database_unreachable", NULL);
}

static void socket_ready(struct watch *watch, uint32_t events)
{
    struct listen *listen = (struct listen *)watch;
    if (!listen->pg)
        return;
    if (listen->state == SESSION_OPENING) {
        poll_opening(listen);
        return;
    }
    if (events & EPOLLOUT) {
        int left = PQflush(listen->pg);
        if (left < 0) {
            session_lost(listen, "database_lost", NULL);
            return;
        }
        interest_in_socket(listen, left > 0);
    }
    if (events & ~(uint32_t)EPOLLOUT)
        take_input(listen);
}

// --- time
// -------------------------------------------------------------------------------------------------------------

static void do_work(struct timer *timer)
{
    struct listen *listen = (struct listen *)((char *)timer - offsetof(struct listen, work));
    interests_call_due(&listen->all);
    send_next(listen);
}

// By the clock: buckets that nothing is told about, and those of them that nobody waits on.
static void look_by_the_clock(struct listen *listen, int64_t now)
{
    struct waited_bucket *bucket, *next;
    listen->looked_at = now;
    HASH_ITER(hh, listen->all.buckets, bucket, next)
    {
        if (bucket->cover == COVER_NONE && !bucket->interests)
            interests_forget_bucket(&listen->all, bucket);
        else if (bucket->cover != COVER_HELD)
            interests_mark_bucket(&listen->all, bucket);
    }
}

static void check_session(struct listen *listen, int64_t now)
{
    if (listen->state == SESSION_AWAY && now >= listen->open_at)
        session_open(listen);
    else if (listen->state == SESSION_OPENING && now - listen->opening_since > OPENING_LIMIT)
        session_lost(listen, "database_unreachable", "no answer");
    else if (listen->state >= SESSION_SETUP && listen->task != TASK_NONE && now - listen->sent > ANSWER_LIMIT)
        session_lost(listen, "database_silent", "no answer");
}

static void tick(struct timer *timer)
{
    struct listen *listen = (struct listen *)((char *)timer - offsetof(struct listen, tick));
    int64_t now = timestamp_monotonic();
    check_session(listen, now);
    if (now - listen->looked_at >= LOOK_EVERY)
        look_by_the_clock(listen, now);
    listen->to_choose = true;
    interests_call_due(&listen->all);
    send_next(listen);
    loop_timer_set(listen->loop, timer, now + TICK);
}

// --- the room's face
// --------------------------------------------------------------------------------------------------

struct listen *listen_new(struct loop *loop, const char *connection, struct counts *counts)
{
    struct listen *listen = calloc(1, sizeof *listen);
    if (!listen)
        abort();
    listen->loop = loop;
    listen->connection = connection;
    listen->counts = counts;
    listen->all.counts = counts;
    listen->watch = (struct watch){.fd = -1, .ready = socket_ready};
    listen->tick.fire = tick;
    listen->work.fire = do_work;
    listen->backoff = BACKOFF_FIRST;
    listen->most_locks = MOST_LOCKS;
    session_open(listen);
    loop_timer_set(loop, &listen->tick, timestamp_monotonic() + TICK);
    return listen;
}

void listen_observe(const struct listen *listen)
{
    count_set(&listen->counts->waited_buckets, listen->locks);
    count_set(&listen->counts->wanted[COUNTED_LISTEN], 1);
    count_set(&listen->counts->ready[COUNTED_LISTEN], listen->state == SESSION_READY);
}

void listen_free(struct listen *listen)
{
    if (!listen)
        return;
    loop_timer_clear(listen->loop, &listen->tick);
    loop_timer_clear(listen->loop, &listen->work);
    close_socket(listen);
    interests_free(&listen->all);
    buffer_free(&listen->scratch);
    free(listen);
}

void listen_add(struct listen *listen, struct interest *interest)
{
    interests_add(&listen->all, interest);
    const struct waited_bucket *bucket = interest->in;
    bool told = bucket->cover == COVER_HELD;
    bool by_the_clock =
        listen->state != SESSION_READY || listen->locks >= listen->most_locks || bucket->try_after;
    if (told || (bucket->cover == COVER_NONE && by_the_clock))
        interests_mark(&listen->all, interest);
    else
        listen->to_choose = true;
    soon(listen);
}

void listen_remove(struct listen *listen, struct interest *interest)
{
    struct waited_bucket *bucket = interests_remove(&listen->all, interest);
    if (bucket->interests)
        return;
    bucket->alone_since = timestamp_monotonic();
    if (bucket->cover == COVER_NONE)
        interests_forget_bucket(&listen->all, bucket);
}

void listen_changed(struct listen *listen, struct bytes bucket, struct bytes path, enum listen_topic topic)
{
    interests_mark_path(&listen->all, bucket, path, topic);
}

void listen_call(struct listen *listen)
{
    interests_call_due(&listen->all);
}

void listen_to_tokens(struct listen *listen, void (*changed)(void *user), void *user)
{
    listen->tokens_changed = changed;
    listen->tokens_user = user;
}
