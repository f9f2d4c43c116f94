// Copy and move: one transaction in the database. Only when the target has a type of its own is the value
// looked at here, and then the transaction insists on the version that was looked at.
#include "handlers/entry_transfer.h"

#include "base/path.h"
#include "handlers/access.h"
#include "handlers/entry_call.h"
#include "handlers/entry_reply.h"
#include "handlers/json_input.h"
#include "handlers/outcome.h"
#include "handlers/session_links.h"

enum {
    TRANSFER_FROM_NAME,
    TRANSFER_FROM_PATH,
    TRANSFER_TO_NAME,
    TRANSFER_TO_PATH,
    TRANSFER_CONDITIONS,
    TRANSFER_IF_VERSIONS,
    TRANSFER_UNLESS_VERSIONS,
    TRANSFER_CHECKED,
    TRANSFER_CHECKED_VERSION,
    TRANSFER_DECLARES,
    TRANSFER_COLUMNS,
};

enum transfer_result { MOVED_STATUS, MOVED_VERSION, MOVED_KIND, MOVED_EXPIRES_AT, MOVED_MOST };

#define TRANSFER_STATEMENT(function)                                                                         \
    .sql = "select * from holdfast." function "($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",                   \
    .form = STATEMENT_ALONE, .role = ROLE_LARGE, .writes = true, .columns = TRANSFER_COLUMNS,                \
    .column = {COLUMN_TEXT, COLUMN_BYTEA, COLUMN_TEXT, COLUMN_BYTEA, COLUMN_INT2,                            \
               COLUMN_TEXT, COLUMN_TEXT,  COLUMN_TEXT, COLUMN_INT8,  COLUMN_BOOL}

static const struct statement copy_entry = {.name = "copy_entry", TRANSFER_STATEMENT("copy_entry")};
static const struct statement move_entry = {.name = "move_entry", TRANSFER_STATEMENT("move_entry")};

// Each further look means that the entry, or the type of the target, changed under the last one; this many in
// a row is not bad luck but a storm.
enum { LOOKS = 200 };

struct transfer_call {
    struct operation operation; // first: the operation is the call
    struct value values[TRANSFER_COLUMNS];
    struct address from;
    struct bytes to_bucket;
    struct get_call look;
    struct declared_type type; // of the target, for which the value is looked at
    bool sealed;               // the source or the target is
    struct stored_entry entry; // the source, opened, when one of them is
    struct sealed_write write;
    int looks;
};

static enum sealed_verdict fill_target(struct sealed_write *write, const struct outcome *outcome)
{
    const struct transfer_call *call = write->owner;
    const struct stored_entry *entry = &call->entry;
    struct address to = {.bucket = call->to_bucket, .path = call->values[TRANSFER_TO_PATH].bytes};
    struct content content = {
        .value = entry->value,
        .content_type = entry->content_type.size ? value_bytes(entry->content_type) : value_null(),
        .metadata = entry->metadata.size ? value_bytes(entry->metadata) : value_null(),
    };
    if (outcome_number(outcome, 0, MOVED_STATUS) == WRITE_NEW)
        sealed_write_fill(write, &to, outcome_number(outcome, 0, MOVED_VERSION), &content,
                          !call->type.encrypted);
    return SEALED_KEEP;
}

static void submit(struct request *request, struct transfer_call *call)
{
    if (!call->sealed) {
        request_submit(request, &call->operation);
        return;
    }
    call->write = (struct sealed_write){
        .arena = &request->arena,
        .operation = &call->operation,
        .alone = true,
        .seal = fill_target,
        .owner = call,
    };
    sealed_write_submit(context_of(request), &call->write);
}

// Opens the value, which outlives the look, and checks it for the target; replies and gives false when it may
// not be there.
static bool take_look(struct request *request, struct transfer_call *call, const struct outcome *outcome)
{
    struct stored_entry *entry = &call->entry;
    *entry = got_entry(&call->look, outcome);
    call->sealed = call->type.encrypted || entry_sealed(entry);
    if (!entry_open(context_of(request), &request->arena, entry)) {
        reply_corrupt(request, entry);
        return false;
    }
    if (!type_fits(request, &call->type, entry->value))
        return false;
    if (call->sealed) {
        entry->value = arena_copy(&request->arena, entry->value);
        entry->content_type = arena_copy(&request->arena, entry->content_type);
        entry->metadata = arena_copy(&request->arena, entry->metadata);
    }
    return true;
}

static void looked(struct operation *operation, const struct outcome *outcome)
{
    struct transfer_call *call = operation->owner;
    struct request *request = call->operation.owner;
    if (!outcome_usable(request, outcome))
        return;
    if (outcome_number(outcome, 0, GOT_STATUS) == GET_LIVE) {
        if (get_call_large(context_of(request), &call->look, outcome))
            return;
        if (!take_look(request, call, outcome))
            return;
        call->values[TRANSFER_CHECKED] = value_bytes(bytes_of(call->type.name));
        call->values[TRANSFER_CHECKED_VERSION] = value_number(outcome_number(outcome, 0, GOT_VERSION));
    }
    submit(request, call);
}

static void look_at_value(struct request *request, struct transfer_call *call, struct bytes type_name)
{
    if (++call->looks > LOOKS) {
        reply_simple_problem(request, PROBLEM_UNAVAILABLE,
                             "the entry changed each time before it could be written; nothing was done");
        return;
    }
    if (!declared_type_parse(type_name, &call->type)) {
        reply_simple_problem(request, PROBLEM_INTERNAL,
                             "the bucket has a type that this version does not know");
        return;
    }
    get_call_submit(context_of(request), &request->account, &call->look, &call->from, value_null(), true,
                    looked, call);
}

// What was moved away is gone; moved onto itself it is still there.
static void link_transfer(struct request *request, const struct transfer_call *call, int64_t version)
{
    struct bytes to_path = call->values[TRANSFER_TO_PATH].bytes;
    bool moves = call->operation.statement == &move_entry;
    bool itself = bytes_equal(call->from.bucket, call->to_bucket) && bytes_equal(call->from.path, to_path);
    if (moves && !itself)
        session_link(request, call->from.bucket, call->from.path, version, "delete");
    session_link(request, call->to_bucket, to_path, version, moves ? "move" : "copy");
}

static void reply_transferred(struct request *request, const struct transfer_call *call,
                              const struct outcome *outcome)
{
    int64_t version = outcome_number(outcome, 0, MOVED_VERSION);
    link_transfer(request, call, version);
    reply_etag(request, version);
    reply_position(request, version);
    if (!outcome_null(outcome, 0, MOVED_EXPIRES_AT))
        reply_expires_at(request, outcome_time(outcome, 0, MOVED_EXPIRES_AT));
    reply_json(request, 200,
               bytes_of(arena_printf(&request->arena, "{\"version\":\"%lld\"}\n", (long long)version)));
}

static void transfer_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    struct transfer_call *call = (struct transfer_call *)operation;
    if (!outcome_usable(request, outcome))
        return;
    switch ((enum write_status)outcome_number(outcome, 0, MOVED_STATUS)) {
    case WRITE_NEW:
        reply_transferred(request, call, outcome);
        return;
    case WRITE_CONFLICT:
        reply_version_conflict(request, !outcome_null(outcome, 0, MOVED_VERSION),
                               outcome_number(outcome, 0, MOVED_VERSION));
        return;
    case WRITE_NO_BUCKET:
        reply_no_bucket(request, call->from.bucket);
        return;
    case WRITE_OTHER_KIND:
        reply_kind_mismatch(request, call->from.bucket, outcome_bytes(outcome, 0, MOVED_KIND));
        return;
    case WRITE_OTHER_TYPE:
        look_at_value(request, call, outcome_bytes(outcome, 0, MOVED_KIND));
        return;
    case WRITE_TOO_LARGE:
        reply_value_too_large(request, outcome_number(outcome, 0, MOVED_MOST));
        return;
    case WRITE_NO_TARGET_BUCKET:
        reply_no_bucket(request, call->to_bucket);
        return;
    case WRITE_TARGET_OTHER_KIND:
        reply_kind_mismatch(request, call->to_bucket, outcome_bytes(outcome, 0, MOVED_KIND));
        return;
    default:
        reply_absent(request);
        return;
    }
}

// The target: what the request leaves out is as in the source.
static bool read_target(struct request *request, struct transfer_call *call, struct bytes *to_path)
{
    static const char *const members[] = {"to_bucket", "to_under", "to_key", "to_key_base64", NULL};
    struct bytes owners[PATH_MAX_OWNERS];
    struct bytes key;
    size_t count;
    json_t *object = request_json(request, false);
    if (!object || !request_json_members(request, object, members) ||
        !input_text(request, object, "to_bucket", false, &call->to_bucket) ||
        !input_owners(request, object, "to_under", owners, &count) ||
        !input_bytes(request, object, "to_key", "to_key_base64", false, &key))
        return false;
    if (!call->to_bucket.data)
        call->to_bucket = call->from.bucket;
    else
        call->to_bucket = name_enter(request, call->to_bucket);
    if (!bucket_name_check(request, call->to_bucket))
        return false;
    json_t *to_under = json_object_get(object, "to_under");
    if (!to_under || json_is_null(to_under))
        count = request_arguments(request, "under", owners, PATH_MAX_OWNERS);
    if (!key.data)
        key = request->parameters[1];
    return input_path(request, owners, count, key, to_path) &&
           access_check(request, GRANT_WRITE, GRANT_BUCKETS, call->to_bucket, *to_path);
}

static void transfer(struct request *request, const struct statement *statement)
{
    struct precondition precondition;
    struct bytes to_path;
    struct transfer_call *call = arena_zalloc(&request->arena, sizeof *call);
    if (!address_read(request, &call->from) || !read_target(request, call, &to_path))
        return;
    precondition_read(request, &precondition);
    call->values[TRANSFER_FROM_NAME] = value_bytes(call->from.bucket);
    call->values[TRANSFER_FROM_PATH] = value_bytes(call->from.path);
    call->values[TRANSFER_TO_NAME] = value_bytes(call->to_bucket);
    call->values[TRANSFER_TO_PATH] = value_bytes(to_path);
    call->values[TRANSFER_CONDITIONS] = precondition.flags;
    call->values[TRANSFER_IF_VERSIONS] = precondition.if_versions;
    call->values[TRANSFER_UNLESS_VERSIONS] = precondition.unless_versions;
    call->values[TRANSFER_DECLARES] = value_number(context_of(request)->declares);
    call->operation = (struct operation){
        .statement = statement,
        .bucket = call->to_bucket,
        .values = call->values,
        .done = transfer_done,
        .owner = request,
    };
    request_submit(request, &call->operation);
}

void entry_copy(struct request *request)
{
    transfer(request, &copy_entry);
}

void entry_move(struct request *request)
{
    transfer(request, &move_entry);
}
