// The loop of read, decide and conditional write.
#include "handlers/rewrite.h"

#include "handlers/entry_reply.h"
#include "handlers/fork.h"
#include "handlers/outcome.h"

#include <stdlib.h>

// Each round that fails means that somebody else's write succeeded; this many in a row is not bad luck but a
// storm.
enum { TRIES = 200 };

static void read_entry(struct rewrite *rewrite);

static void let_go(struct rewrite *rewrite)
{
    held_release(rewrite->held);
    rewrite->held = NULL;
    buffer_free(&rewrite->made);
}

static void write_done(struct operation *operation, const struct outcome *outcome)
{
    struct rewrite *rewrite = operation->owner;
    struct request *request = rewrite->request;
    if (!outcome_usable(request, outcome)) {
        let_go(rewrite);
        return;
    }
    enum write_status status = (enum write_status)outcome_number(outcome, 0, WROTE_STATUS);
    if (status != WRITE_NEW && status != WRITE_REPLACED && status != WRITE_CONFLICT) {
        enum put_refusal refusal = put_call_refused(request, &rewrite->put, outcome);
        if (refusal == PUT_REPLIED)
            let_go(rewrite);
        return;
    }
    if (status == WRITE_CONFLICT) {
        read_entry(rewrite);
        return;
    }
    int64_t version = outcome_number(outcome, 0, WROTE_VERSION);
    reply_etag(request, version);
    reply_position(request, version);
    if (!outcome_null(outcome, 0, WROTE_EXPIRES_AT))
        reply_expires_at(request, outcome_time(outcome, 0, WROTE_EXPIRES_AT));
    rewrite->written(rewrite, &rewrite->current, version);
    let_go(rewrite);
}

// The write goes through only if the entry is still what was read.
static struct precondition unchanged(struct rewrite *rewrite)
{
    if (!rewrite->current.live)
        return (struct precondition){.flags = value_number(CONDITION_ABSENT), .fence = rewrite->fence};
    char *list = arena_printf(&rewrite->request->arena, "{%lld}", (long long)rewrite->current.version);
    return (struct precondition){.flags = value_number(CONDITION_IF_VERSION),
                                 .if_versions = value_bytes(bytes_of(list)),
                                 .fence = rewrite->fence};
}

// The request's own preconditions, on what was read: the write that follows makes sure that it still holds.
static bool preconditions_hold(struct rewrite *rewrite)
{
    const struct current *current = &rewrite->current;
    const struct conditions *conditions = &rewrite->request->conditions;
    struct bytes tag = arena_decimal(&rewrite->request->arena, 0, current->version, 0);
    if (conditions->if_match.given && !(current->live && condition_matches(&conditions->if_match, tag)))
        return false;
    return !(conditions->if_none_match.given && current->live &&
             condition_matches(&conditions->if_none_match, tag));
}

static void decide(struct rewrite *rewrite)
{
    struct content content = {0};
    if (!preconditions_hold(rewrite)) {
        reply_version_conflict(rewrite->request, rewrite->current.live, rewrite->current.version);
        let_go(rewrite);
        return;
    }
    buffer_clear(&rewrite->made);
    if (!rewrite->decide(rewrite, &rewrite->current, &content)) {
        let_go(rewrite);
        return;
    }
    struct precondition precondition = unchanged(rewrite);
    put_call_submit(rewrite->request, &rewrite->put, &rewrite->address, &content, &precondition,
                    &rewrite->expiry, write_done, rewrite);
}

// Takes over what was read; replies and gives false when it does not open.
static bool open_current(struct rewrite *rewrite, const struct outcome *outcome)
{
    struct request *request = rewrite->request;
    struct stored_entry entry = got_entry(&rewrite->get, outcome);
    if (!entry_open(context_of(request), &request->arena, &entry)) {
        reply_corrupt(request, &entry);
        return false;
    }
    rewrite->held = outcome_hold(outcome);
    rewrite->current.version = entry.version;
    rewrite->current.value = entry.value;
    rewrite->current.content_type = entry.content_type;
    rewrite->current.metadata = entry.metadata;
    rewrite->current.type = entry.declared;
    return true;
}

static void read_done(struct operation *operation, const struct outcome *outcome)
{
    struct rewrite *rewrite = operation->owner;
    struct request *request = rewrite->request;
    if (!outcome_usable(request, outcome)) {
        let_go(rewrite);
        return;
    }
    enum get_status status = (enum get_status)outcome_number(outcome, 0, GOT_STATUS);
    if (fork_refused(request, status)) {
        let_go(rewrite);
        return;
    }
    if (status == GET_OTHER_KIND) {
        reply_kind_mismatch(request, operation->bucket, outcome_bytes(outcome, 0, GOT_KIND));
        let_go(rewrite);
        return;
    }
    if (status == GET_LIVE && get_call_large(context_of(request), &rewrite->get, outcome))
        return;
    rewrite->current = (struct current){.live = status == GET_LIVE};
    if (status == GET_LIVE && !open_current(rewrite, outcome)) {
        let_go(rewrite);
        return;
    }
    decide(rewrite);
}

static void read_entry(struct rewrite *rewrite)
{
    held_release(rewrite->held);
    rewrite->held = NULL;
    if (++rewrite->tries > TRIES) {
        reply_simple_problem(rewrite->request, PROBLEM_UNAVAILABLE,
                             "the entry changed each time before it could be written; nothing was done");
        let_go(rewrite);
        return;
    }
    get_call_submit(context_of(rewrite->request), &rewrite->request->account, &rewrite->get,
                    &rewrite->address, value_null(), true, read_done, rewrite);
}

static void fence_looked_at(struct operation *operation, const struct outcome *outcome)
{
    struct rewrite *rewrite = operation->owner;
    if (!outcome_usable(rewrite->request, outcome))
        return;
    if (fence_call_live(outcome))
        read_entry(rewrite);
    else
        reply_lease_lost(rewrite->request);
}

void rewrite_start(struct rewrite *rewrite)
{
    if (rewrite->fence.given)
        fence_call_submit(context_of(rewrite->request), &rewrite->request->account, &rewrite->look,
                          &rewrite->fence, fence_looked_at, rewrite);
    else
        read_entry(rewrite);
}

static void release_result(void *owner)
{
    held_release(owner);
}

void rewrite_reply_current(struct rewrite *rewrite, int status)
{
    struct request *request = rewrite->request;
    struct held *held = rewrite->held;
    rewrite->held = NULL;
    reply_content_type(request, rewrite->current.content_type);
    reply_metadata(request, rewrite->current.metadata);
    reply_held(request, status, rewrite->current.value, (struct held_body){held, release_result});
}
