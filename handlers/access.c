// The route's rule decides about the name in the path; whatever is decided needs no look at what is stored,
// so that nobody learns what is there from what is refused.
#include "handlers/access.h"

#include "base/path.h"
#include "handlers/callers.h"
#include "handlers/outcome.h"
#include "http/cors.h"
#include "http/reply.h"

#include <sodium.h>

// --- names
// ------------------------------------------------------------------------------------------------------------

static struct bytes join(struct request *request, struct bytes prefix, struct bytes name)
{
    uint8_t *both = arena_alloc(&request->arena, prefix.size + name.size + 1);
    memcpy(both, prefix.data, prefix.size);
    if (name.size)
        memcpy(both + prefix.size, name.data, name.size);
    both[prefix.size + name.size] = 0;
    return bytes_make(both, prefix.size + name.size);
}

static struct bytes prefix_of(const struct request *request)
{
    const struct token *token = token_of(request);
    return token ? token->prefix : (struct bytes){0};
}

struct bytes name_enter_beginning(struct request *request, struct bytes beginning)
{
    struct bytes prefix = prefix_of(request);
    return prefix.size ? join(request, prefix, beginning) : beginning;
}

struct bytes name_enter(struct request *request, struct bytes name)
{
    return name.size ? name_enter_beginning(request, name) : name;
}

bool name_is_own(const struct request *request, struct bytes name)
{
    struct bytes prefix = prefix_of(request);
    return !prefix.size || (name.size > prefix.size && memcmp(name.data, prefix.data, prefix.size) == 0);
}

struct bytes name_shown(const struct request *request, struct bytes name)
{
    struct bytes prefix = prefix_of(request);
    return name_is_own(request, name) ? bytes_make(name.data + prefix.size, name.size - prefix.size) : name;
}

// --- deciding
// ---------------------------------------------------------------------------------------------------------

bool access_allows(const struct request *request, enum grant_action action, enum grant_kind kind,
                   struct bytes name, struct bytes path)
{
    const struct token *token = token_of(request);
    return !token ||
           (name_is_own(request, name) && token_allows(token, action, kind, name_shown(request, name), path));
}

void reply_forbidden(struct request *request)
{
    reply_simple_problem(request, PROBLEM_FORBIDDEN, "the token has no grant for this");
}

bool access_check(struct request *request, enum grant_action action, enum grant_kind kind, struct bytes name,
                  struct bytes path)
{
    if (access_allows(request, action, kind, name, path))
        return true;
    reply_forbidden(request);
    return false;
}

// The branch of the query; what is no branch lies in none.
static bool read_branch(struct request *request, struct bytes *branch)
{
    struct bytes owners[PATH_MAX_OWNERS];
    size_t count = request_arguments(request, "under", owners, PATH_MAX_OWNERS);
    *branch = (struct bytes){0};
    return count && count <= PATH_MAX_OWNERS &&
           path_encode_branch(&request->arena, owners, count, branch) == PATH_OK;
}

static bool allows_name(struct request *request, const struct token *token, const struct route_rule *rule,
                        enum grant_action action)
{
    struct bytes name = request->parameters[0];
    struct bytes branch = {0};
    enum grant_kind kind = (enum grant_kind)rule->kind;
    switch ((enum route_about)rule->about) {
    case ABOUT_NOTHING:
        return false;
    case ABOUT_NAME:
        break;
    case ABOUT_BRANCH:
        read_branch(request, &branch);
        break;
    case ABOUT_DROP:
        if (!read_branch(request, &branch))
            action = GRANT_ADMIN;
        break;
    case ABOUT_ITEMS:
        return token_allows_somewhere(token, action, kind, name);
    }
    return token_allows(token, action, kind, name, branch);
}

static bool allows_session(const struct request *request, const struct token *token)
{
    if (!request->linked)
        return true;
    struct bytes both = request->headers[HEADER_SESSION];
    const uint8_t *slash = memchr(both.data, '/', both.size);
    struct bytes stream = bytes_make(both.data, (size_t)(slash - both.data));
    return token_allows(token, GRANT_WRITE, GRANT_SESSIONS, stream, (struct bytes){0});
}

static bool allows_route(struct request *request, const struct token *token)
{
    const struct route_rule *rule = &request->route->rule;
    switch ((enum route_need)rule->need) {
    case NEED_NOBODY:
        return false;
    case NEED_NOTHING:
    case NEED_TOKEN:
        return true;
    case NEED_READ:
        return allows_name(request, token, rule, GRANT_READ);
    case NEED_WRITE:
        return allows_name(request, token, rule, GRANT_WRITE);
    case NEED_ADMIN:
        return allows_name(request, token, rule, GRANT_ADMIN);
    case NEED_ADMINISTRATOR:
        return token_administers(token);
    }
    return false;
}

static bool allows(struct request *request, const struct token *token)
{
    return allows_route(request, token) && allows_session(request, token);
}

// --- the request
// ------------------------------------------------------------------------------------------------------

static void forget_caller(void *caller)
{
    token_release(caller);
}

// The secret has done its work; no copy of it stays in memory that is used again.
static void wipe_secret(struct request *request)
{
    struct bytes *header = &request->headers[HEADER_AUTHORIZATION];
    if (header->size)
        sodium_memzero((void *)(uintptr_t)header->data, header->size);
    *header = (struct bytes){0};
}

static void go_on_as(struct request *request, struct token *token)
{
    wipe_secret(request);
    if (!allows(request, token)) {
        reply_forbidden(request);
        return;
    }
    token_hold(token);
    request->caller = token;
    request->forget_caller = forget_caller;
    request->caller_waits = &token->waits->count;
    if (request->route->rule.kind)
        request->parameters[0] = name_enter(request, request->parameters[0]);
    request_admitted(request);
}

void reply_unauthorized(struct request *request)
{
    wipe_secret(request);
    reply_simple_problem(request, PROBLEM_UNAUTHORIZED,
                         "this needs Authorization: Bearer with a token that is valid");
}

// Without tokens whoever reaches the service is let in, but not a page that the user's browser happens to
// show.
static void go_on_without(struct request *request)
{
    if (cors_is_foreign(request))
        reply_simple_problem(request, PROBLEM_FORBIDDEN,
                             "pages of other origins are not let in (see --cors-origin)");
    else if (!context_of(request)->insecure && cors_names_public_host(request))
        reply_simple_problem(
            request, PROBLEM_FORBIDDEN,
            "without a token the service is reached by its address or as localhost, not by this name "
            "(see --insecure)");
    else
        request_admitted(request);
}

static void decided(struct request *request, enum caller_verdict verdict, struct token *token)
{
    switch (verdict) {
    case CALLER_NONE:
        go_on_without(request);
        return;
    case CALLER_GOOD:
        go_on_as(request, token);
        return;
    default:
        reply_unauthorized(request);
    }
}

static void not_decided(struct request *request, const struct outcome *outcome)
{
    wipe_secret(request);
    outcome_usable(request, outcome);
}

void access_admit(struct request *request)
{
    struct callers *callers = context_of(request)->callers;
    struct token *token = NULL;
    if (request->route->rule.need == NEED_NOTHING) {
        request_admitted(request);
        return;
    }
    enum caller_verdict verdict = callers_know(callers, request->headers[HEADER_AUTHORIZATION], &token);
    if (verdict == CALLER_UNKNOWN)
        callers_ask(callers, request, decided, not_decided);
    else
        decided(request, verdict, token);
}

bool access_turns_away(struct request *request, struct problem *problem)
{
    struct token *token = NULL;
    if (request->route->rule.need == NEED_NOTHING)
        return false;
    switch (callers_know(context_of(request)->callers, request->headers[HEADER_AUTHORIZATION], &token)) {
    case CALLER_BAD:
        *problem = (struct problem){.kind = PROBLEM_UNAUTHORIZED,
                                    .detail = "this needs Authorization: Bearer with a token that is valid"};
        return true;
    case CALLER_GOOD:
        if (allows(request, token))
            return false;
        *problem = (struct problem){.kind = PROBLEM_FORBIDDEN, .detail = "the token has no grant for this"};
        return true;
    default:
        return false;
    }
}

// --- what lists show
// --------------------------------------------------------------------------------------------------

static void add_pattern(struct request *request, struct buffer *json, const struct grant *grant)
{
    const char *kind = grant_kind_stored(grant->kind);
    buffer_add_text(json, json->size > 1 ? ",{\"kind\":" : "{\"kind\":");
    if (kind)
        buffer_add_json(json, bytes_of(kind));
    else
        buffer_add_text(json, "null");
    buffer_add_text(json, ",\"name\":");
    buffer_add_json(json, name_enter_beginning(request, grant->name));
    buffer_printf(json, ",\"begins\":%s}", grant->begins ? "true" : "false");
}

static bool is_readable_name(const struct grant *grant)
{
    return !grant->branch.size && (grant->kind == GRANT_ANY_KIND || grant_kind_stored(grant->kind));
}

// As a whole: a grant for a branch is none.
static bool is_writable_bucket(const struct grant *grant)
{
    return !grant->branch.size && grant->action >= GRANT_WRITE &&
           (grant->kind == GRANT_ANY_KIND || grant->kind == GRANT_BUCKETS);
}

static bool is_fork_administration(const struct grant *grant)
{
    return grant->action == GRANT_ADMIN && (grant->kind == GRANT_ANY_KIND || grant->kind == GRANT_FORKS);
}

static struct value patterns(struct request *request, bool (*counts)(const struct grant *grant))
{
    const struct token *token = token_of(request);
    struct buffer json = {0};
    if (!token)
        return value_null();
    buffer_add_char(&json, '[');
    for (size_t i = 0; i < token->grant_count; i++)
        if (counts(&token->grants[i]))
            add_pattern(request, &json, &token->grants[i]);
    buffer_add_char(&json, ']');
    struct bytes text = arena_copy(&request->arena, buffer_view(&json));
    buffer_free(&json);
    return value_bytes(text);
}

struct value access_readable(struct request *request)
{
    return patterns(request, is_readable_name);
}

struct value access_writable_buckets(struct request *request)
{
    return patterns(request, is_writable_bucket);
}

struct value access_administered_forks(struct request *request)
{
    return patterns(request, is_fork_administration);
}
