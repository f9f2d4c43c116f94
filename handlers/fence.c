// Reading fences: half a fence is refused, never left out.
#include "handlers/fence.h"

#include "base/path.h"
#include "handlers/access.h"
#include "handlers/address.h"
#include "handlers/json_input.h"
#include "handlers/lease_input.h"

static bool read_path(struct request *request, struct bytes key, struct bytes *path)
{
    struct bytes owners[PATH_MAX_OWNERS];
    size_t count = request_arguments(request, "fence_under", owners, PATH_MAX_OWNERS);
    if (count > PATH_MAX_OWNERS) {
        reply_too_many_owners(request, "fence_under");
        return false;
    }
    switch (path_encode(&request->arena, owners, count, key, path)) {
    case PATH_OK:
        return true;
    case PATH_EMPTY:
        reply_invalid(request, key.size ? "fence_under" : "fence_key",
                      "a key or owner has at least one byte");
        return false;
    case PATH_TOO_LONG:
        break;
    }
    reply_path_too_long(request, "fence_under");
    return false;
}

static bool is_whole(struct request *request)
{
    static const char *const names[] = {"fence_bucket", "fence_key", "fence_token"};
    for (int i = 0; i < 3; i++) {
        bool given;
        request_argument(request, names[i], &given);
        if (!given) {
            reply_invalid(request, names[i], "a fence is fence_bucket, fence_key and fence_token together");
            return false;
        }
    }
    return true;
}

static bool is_any(const struct request *request)
{
    static const char *const names[] = {"fence_bucket", "fence_key", "fence_token", "fence_under"};
    bool given = false;
    for (int i = 0; i < 4 && !given; i++)
        request_argument(request, names[i], &given);
    return given;
}

bool fence_read(struct request *request, struct fence *fence)
{
    bool given;
    *fence = (struct fence){0};
    if (!is_any(request))
        return true;
    request_argument(request, "fork", &given);
    if (given) {
        reply_invalid(request, "fork", "a lease fences writes to the main data, not to a fork");
        return false;
    }
    if (!is_whole(request))
        return false;
    fence->given = true;
    fence->bucket = name_enter(request, request_argument(request, "fence_bucket", &given));
    if (!bucket_name_valid(fence->bucket)) {
        reply_invalid(request, "fence_bucket", "not the name of a bucket");
        return false;
    }
    if (!read_path(request, request_argument(request, "fence_key", &given), &fence->path) ||
        !lease_token_parse(request, "fence_token", request_argument(request, "fence_token", &given),
                           &fence->token) ||
        !access_check(request, GRANT_READ, GRANT_BUCKETS, fence->bucket, fence->path))
        return false;
    if (request->conditions.if_match.given || request->conditions.if_none_match.given)
        return true;
    reply_simple_problem(
        request, PROBLEM_PRECONDITION_REQUIRED,
        "a fenced write needs If-Match or If-None-Match, so that it applies to what its holder saw");
    return false;
}

void fence_values(const struct fence *fence, struct value *values)
{
    values[FENCE_BUCKET] = value_bytes(fence->bucket);
    values[FENCE_PATH] = value_bytes(fence->path);
    values[FENCE_TOKEN] = value_number(fence->token);
}

static const struct statement check_fences = {
    .name = "check_fences",
    .sql = "select * from holdfast.check_fences($1, $2, $3, $4, $5)",
    .form = STATEMENT_SHARED,
    .role = ROLE_READ,
    .keys = KEYS_ANY,
    .columns = 2,
    .column = {COLUMN_BYTEA, COLUMN_INT8},
};

void fence_call_submit(struct context *context, struct account *account, struct fence_call *call,
                       const struct fence *fence, void (*done)(struct operation *, const struct outcome *),
                       void *owner)
{
    call->values[0] = value_bytes(fence->path);
    call->values[1] = value_number(fence->token);
    call->operation = (struct operation){
        .statement = &check_fences,
        .bucket = fence->bucket,
        .key = fence->path,
        .values = call->values,
        .done = done,
        .owner = owner,
        .account = account,
    };
    store_submit(context->store, &call->operation);
}

bool fence_call_live(const struct outcome *outcome)
{
    return outcome_number(outcome, 0, 1) != 0;
}
