// A grant may have waited in a queue, or its reply may have been lost and asked for again. How long ago the
// term began is then not known, so it is begun anew.
#include "client/lease_grant.h"

#include "base/duration.h"
#include "client/answer.h"
#include "client/arguments.h"
#include "client/boot_time.h"
#include "client/exit_code.h"
#include "client/once_key.h"
#include "client/wait.h"

#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

void lease_holder(const struct arguments *arguments, const char *more, char holder[HOLDER_MOST + 1])
{
    char host[128] = "";
    const struct passwd *user = getpwuid(geteuid());
    gethostname(host, sizeof host - 1);
    if (arguments->holder)
        snprintf(holder, HOLDER_MOST + 1, "%s", arguments->holder);
    else
        snprintf(holder, HOLDER_MOST + 1, "%.64s@%s%s", user ? user->pw_name : "nobody", host, more);
}

static const char *request_body(struct connection *connection, const struct lease_grant *grant,
                                const char *ttl, const char *token)
{
    struct buffer json = {0};
    buffer_add_text(&json, "{\"holder\":");
    buffer_add_json(&json, bytes_of(grant->holder));
    buffer_add_text(&json, ",\"ttl\":");
    buffer_add_json(&json, bytes_of(ttl));
    if (token) {
        buffer_add_text(&json, ",\"token\":");
        buffer_add_json(&json, bytes_of(token));
    }
    buffer_add_char(&json, '}');
    const char *text = (const char *)arena_copy(&connection->arena, buffer_view(&json)).data;
    buffer_free(&json);
    return text;
}

static bool note_grant(struct connection *connection, const struct reply *reply, struct lease_grant *grant)
{
    const char *token = reply_member(reply, &connection->arena, "token");
    const char *ttl = reply_member(reply, &connection->arena, "ttl");
    if (!token || !ttl || !duration_parse(bytes_of(ttl), &grant->ttl))
        return false;
    snprintf(grant->token, sizeof grant->token, "%s", token);
    return true;
}

// Begins the term anew, at a time that is known.
static bool confirm(struct connection *connection, const char *target, struct lease_grant *grant,
                    struct reply *reply)
{
    int64_t sent_at = boot_time();
    connection_header(connection, "Content-Type", "application/json");
    if (!connection_ask(connection, "PUT", target, bytes_of(grant->renewal), 0, reply) ||
        reply->status != 200 || !note_grant(connection, reply, grant))
        return false;
    grant->ends = sent_at + grant->ttl;
    return true;
}

struct attempt {
    char key[ONCE_KEY_BYTES]; // under which a repetition gets the same grant
    int64_t begun_at;         // boot_time of its first request
    int failures;
};

static void begin_attempt(struct attempt *attempt)
{
    once_key(attempt->key);
    attempt->begun_at = boot_time();
}

static bool ask(struct connection *connection, const char *target, const char *body,
                const struct attempt *attempt, int64_t wait, struct reply *reply)
{
    connection_header(connection, "Content-Type", "application/json");
    connection_header(connection, "Idempotency-Key", attempt->key);
    wait_header(connection, wait);
    return connection_ask(connection, "POST", target, bytes_of(body), wait, reply);
}

// Whether the grant holds: at once when it is fresh, else when it could be begun anew.
static bool settle(struct connection *connection, const char *target, const struct arguments *arguments,
                   const struct attempt *attempt, struct lease_grant *grant, struct reply *reply)
{
    if (!note_grant(connection, reply, grant))
        return false;
    grant->renewal = request_body(connection, grant, arguments->ttl, grant->token);
    grant->ends = attempt->begun_at + grant->ttl;
    if (boot_time() - attempt->begun_at < grant->ttl / 8)
        return true;
    return confirm(connection, target, grant, reply);
}

static int acquire(struct connection *connection, const struct arguments *arguments, const char *target,
                   struct lease_grant *grant, struct reply *reply)
{
    const char *body = request_body(connection, grant, arguments->ttl, NULL);
    int64_t until = boot_time() + arguments->wait;
    struct attempt attempt = {0};
    begin_attempt(&attempt);
    for (;;) {
        int64_t left = until - boot_time(), wait = left < 0 ? 0 : left < WAIT_MOST ? left : WAIT_MOST;
        bool answered = ask(connection, target, body, &attempt, wait, reply);
        if (answered && reply->status == 201 && settle(connection, target, arguments, &attempt, grant, reply))
            return EXIT_DONE;
        bool away = !answered || answer_code(reply) == EXIT_UNAVAILABLE;
        bool refused = answered && !away && reply->status != 201 && !reply_is_problem(reply, "lease_held");
        if (refused || (reply->status != 201 && boot_time() >= until))
            return answered ? answer_refused(arguments, reply) : answer_missing(connection, true);
        if (away)
            wait_before_retry(++attempt.failures);
        else
            begin_attempt(&attempt); // a grant that was lost meanwhile, or the end of a wait: anew
    }
}

int grant_acquire(struct connection *connection, const struct arguments *arguments, const struct place *place,
                  struct lease_grant *grant, struct reply *reply)
{
    struct target target = {0};
    target_place(&target, "buckets", place, "leases", NULL);
    int code = acquire(connection, arguments, target_text(&target), grant, reply);
    buffer_free(&target.text);
    return code;
}

int grant_release(struct connection *connection, const struct arguments *arguments, const struct place *place,
                  const struct lease_grant *grant, bool quiet, struct reply *reply)
{
    struct target target = {0};
    int code, failures = 0;
    target_place(&target, "buckets", place, "leases", NULL);
    target_query(&target, "holder", bytes_of(grant->holder));
    target_query(&target, "token", bytes_of(grant->token));
    for (;;) {
        bool answered = connection_ask(connection, "DELETE", target_text(&target), NO_BODY, 0, reply);
        code = answered ? answer_code(reply) : EXIT_UNAVAILABLE;
        if (code == EXIT_UNAVAILABLE && boot_time() < grant->ends) {
            wait_before_retry(++failures);
            continue;
        }
        if (!answered)
            answer_missing(connection, true);
        else if (code != EXIT_DONE)
            answer_refused(arguments, reply);
        break;
    }
    if (code == EXIT_DONE && !memmem(reply->body.data, reply->body.size, "true", 4)) {
        code = EXIT_REFUSED;
        if (!quiet)
            fputs("holdfast: no live lease has this holder and token\n", stderr);
    }
    buffer_free(&target.text);
    return code;
}
