// Forks over HTTP: making, showing, applying and discarding them.
#include "handlers/forks.h"

#include "base/json_array.h"
#include "base/json_member.h"
#include "base/timestamp.h"
#include "handlers/access.h"
#include "handlers/address.h"
#include "handlers/cursor.h"
#include "handlers/entry_call.h"
#include "handlers/entry_json.h"
#include "handlers/fork.h"
#include "handlers/json_input.h"
#include "handlers/list_query.h"
#include "handlers/outcome.h"
#include "handlers/sealed_write.h"
#include "handlers/session_links.h"

enum { FORK_BUCKETS_MOST = 1000 };

// Whether parameter 0 may name a fork; replies `invalid` when not.
static bool check_id(struct request *request)
{
    if (fork_id_valid(request, request->parameters[0]))
        return true;
    reply_bad_fork_id(request);
    return false;
}

// --- a fork as JSON
// ---------------------------------------------------------------------------------------------------

struct fork_view {
    struct bytes id;
    bool severed;
    struct bytes parent;  // empty: none
    struct bytes buckets; // a JSON array
    int64_t rows;
    int64_t created_at;
    int64_t position;
    struct bytes owner; // the name of the token that made it; data NULL: none did
};

static void write_buckets(struct buffer *json, struct request *request, struct bytes buckets)
{
    struct json_array array;
    struct bytes written, name;
    bool first = true;
    buffer_add_char(json, '[');
    for (json_array_begin(&array, buckets); json_array_next(&array, &written); first = false) {
        if (!first)
            buffer_add_char(json, ',');
        if (json_string_decode(&request->arena, written, &name))
            buffer_add_json(json, name_shown(request, name));
    }
    buffer_add_char(json, ']');
}

static void write_fork(struct buffer *json, struct request *request, const struct fork_view *fork)
{
    char time[TIMESTAMP_SIZE];
    timestamp_format(fork->created_at, time);
    buffer_add_text(json, "{\"id\":");
    buffer_add_json(json, name_shown(request, fork->id));
    buffer_printf(json, ",\"kind\":\"%s\",\"parent\":", fork->severed ? "severed" : "continuous");
    if (fork->parent.size)
        buffer_add_json(json, name_shown(request, fork->parent));
    else
        buffer_add_text(json, "null");
    buffer_add_text(json, ",\"buckets\":");
    write_buckets(json, request, fork->buckets);
    buffer_printf(json, ",\"rows\":%lld,\"owner\":", (long long)fork->rows);
    if (fork->owner.data)
        buffer_add_json(json, fork->owner);
    else
        buffer_add_text(json, "null");
    buffer_printf(json, ",\"status\":\"open\",\"created_at\":\"%s\",\"position\":\"%lld\"}", time,
                  (long long)fork->position);
}

// --- making
// -----------------------------------------------------------------------------------------------------------

enum { CREATE_ID, CREATE_SEVERED, CREATE_PARENT, CREATE_BUCKETS, CREATE_OWNER, CREATE_COLUMNS };
enum create_result { CREATED_STATUS, CREATED_POSITION, CREATED_AT, CREATED_BUCKET, CREATED_KIND };
enum create_status { CREATED, CREATE_EXISTS, CREATE_OTHER_KIND };

static const struct statement create_fork = {
    .name = "create_fork",
    .sql = "select * from holdfast.create_fork($1, $2, $3,"
           " (select array_agg(b) from json_array_elements_text($4::json) b), $5)",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
    .writes = true,
    .columns = CREATE_COLUMNS,
    .column = {COLUMN_TEXT, COLUMN_BOOL, COLUMN_TEXT, COLUMN_TEXT, COLUMN_TEXT},
};

struct create_call {
    struct operation operation; // first: the operation is the call
    struct value values[CREATE_COLUMNS];
    struct fork_view view;
};

static void create_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    struct fork_view *view = &((struct create_call *)operation)->view;
    if (!outcome_usable(request, outcome))
        return;
    switch ((enum create_status)outcome_number(outcome, 0, CREATED_STATUS)) {
    case CREATED:
        break;
    case CREATE_EXISTS:
        reply_simple_problem(request, PROBLEM_BUSY, "there is an open fork of this id");
        return;
    case CREATE_OTHER_KIND:
        reply_kind_mismatch(request, outcome_bytes(outcome, 0, CREATED_BUCKET),
                            outcome_bytes(outcome, 0, CREATED_KIND));
        return;
    }
    view->position = outcome_number(outcome, 0, CREATED_POSITION);
    view->created_at = outcome_time(outcome, 0, CREATED_AT);
    struct buffer json = {0};
    write_fork(&json, request, view);
    buffer_add_char(&json, '\n');
    reply_position(request, view->position);
    reply_json_buffer(request, 201, &json);
}

static bool read_kind(struct request *request, json_t *object, bool *severed)
{
    struct bytes kind;
    if (!input_text(request, object, "kind", true, &kind))
        return false;
    *severed = bytes_is(kind, "severed");
    if (*severed || bytes_is(kind, "continuous"))
        return true;
    reply_invalid(request, "kind", "a fork is continuous or severed");
    return false;
}

static bool read_parent(struct request *request, json_t *object, struct bytes *parent)
{
    *parent = (struct bytes){0};
    if (json_is_null(json_object_get(object, "parent")))
        return true;
    if (!input_text(request, object, "parent", false, parent))
        return false;
    *parent = name_enter(request, *parent);
    if (parent->data && !fork_id_valid(request, *parent)) {
        reply_invalid(request, "parent", "no fork can have this id");
        return false;
    }
    return !parent->data || access_check(request, GRANT_READ, GRANT_FORKS, *parent, (struct bytes){0});
}

static bool may_cover(struct request *request, const json_t *item, struct bytes name)
{
    if (json_is_string(item) && bucket_name_valid(name))
        return access_check(request, GRANT_READ, GRANT_BUCKETS, name, (struct bytes){0});
    reply_invalid(request, "buckets", "one of them is no bucket's name");
    return false;
}

// Whether the name at `place` occurs before it.
static bool occurs_before(const json_t *names, size_t place)
{
    for (size_t i = 0; i < place; i++)
        if (json_equal(json_array_get(names, i), json_array_get(names, place)))
            return true;
    return false;
}

// Into a JSON array: how the database gets the names, and the reply shows them.
static bool read_buckets(struct request *request, json_t *object, struct bytes *buckets)
{
    json_t *given = json_object_get(object, "buckets");
    if (given && !json_is_null(given) && !json_is_array(given)) {
        reply_invalid(request, "buckets", "an array of bucket names is wanted; none stands for every bucket");
        return false;
    }
    if (json_array_size(given) > FORK_BUCKETS_MOST) {
        reply_over_limit(request, PROBLEM_TOO_LARGE, "buckets", FORK_BUCKETS_MOST,
                         "a fork names at most 1000 buckets");
        return false;
    }
    struct buffer json = {0};
    buffer_add_char(&json, '[');
    for (size_t i = 0; i < json_array_size(given); i++) {
        json_t *item = json_array_get(given, i);
        struct bytes name =
            name_enter(request, bytes_make(json_string_value(item), json_string_length(item)));
        if (!may_cover(request, item, name)) {
            buffer_free(&json);
            return false;
        }
        if (occurs_before(given, i)) {
            buffer_free(&json);
            reply_invalid(request, "buckets", "one of them occurs twice");
            return false;
        }
        if (i)
            buffer_add_char(&json, ',');
        buffer_add_json(&json, name);
    }
    buffer_add_char(&json, ']');
    *buckets = arena_copy(&request->arena, buffer_view(&json));
    buffer_free(&json);
    return true;
}

void fork_put(struct request *request)
{
    static const char *const members[] = {"kind", "parent", "buckets", NULL};
    if (!check_id(request))
        return;
    json_t *object = request_json(request, false);
    if (!object || !request_json_members(request, object, members))
        return;
    struct create_call *call = arena_zalloc(&request->arena, sizeof *call);
    struct fork_view *view = &call->view;
    view->id = request->parameters[0];
    if (!read_kind(request, object, &view->severed) || !read_parent(request, object, &view->parent) ||
        !read_buckets(request, object, &view->buckets))
        return;
    call->values[CREATE_ID] = value_bytes(view->id);
    call->values[CREATE_SEVERED] = value_number(view->severed);
    call->values[CREATE_PARENT] = view->parent.data ? value_bytes(view->parent) : value_null();
    call->values[CREATE_BUCKETS] = value_bytes(view->buckets);
    const struct token *token = token_of(request);
    if (token) {
        view->owner = token->name;
        call->values[CREATE_OWNER] = value_bytes(bytes_of(token->id));
    }
    call->operation = (struct operation){
        .statement = &create_fork, .values = call->values, .done = create_done, .owner = request};
    request_submit(request, &call->operation);
}

// --- reading and listing
// ----------------------------------------------------------------------------------------------

enum fork_row {
    ROW_ID,
    ROW_SEVERED,
    ROW_PARENT,
    ROW_BUCKETS,
    ROW_ROWS,
    ROW_CREATED_AT,
    ROW_POSITION,
    ROW_OWNER
};

#define FORK_ROW                                                                                             \
    "f.id, f.severed, f.parent, coalesce(to_json(f.buckets)::text, '[]'), f.own_rows, f.created_at, "        \
    "f.revision, f.owner"

static const struct statement get_fork = {
    .name = "get_fork",
    .sql = "select " FORK_ROW " from holdfast.get_fork($1) f",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
    .only_reads = true,
    .columns = 1,
    .column = {COLUMN_TEXT},
};

enum { LIST_AFTER, LIST_PAGE, LIST_OWNER, LIST_ADMINISTERED, LIST_COLUMNS };

static const struct statement list_forks = {
    .name = "list_forks",
    .sql = "select " FORK_ROW " from holdfast.list_forks($1, $2, $3, $4) f order by f.id",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
    .only_reads = true,
    .columns = LIST_COLUMNS,
    .column = {COLUMN_TEXT, COLUMN_INT4, COLUMN_TEXT, COLUMN_TEXT},
};

struct read_call {
    struct operation operation; // first: the operation is the call
    struct value values[LIST_COLUMNS];
    int64_t limit;
};

static struct fork_view row_view(const struct outcome *outcome, int row)
{
    return (struct fork_view){
        .id = outcome_bytes(outcome, row, ROW_ID),
        .severed = outcome_number(outcome, row, ROW_SEVERED) != 0,
        .parent = outcome_bytes(outcome, row, ROW_PARENT),
        .buckets = outcome_bytes(outcome, row, ROW_BUCKETS),
        .rows = outcome_number(outcome, row, ROW_ROWS),
        .created_at = outcome_time(outcome, row, ROW_CREATED_AT),
        .position = outcome_number(outcome, row, ROW_POSITION),
        .owner = outcome_null(outcome, row, ROW_OWNER) ? (struct bytes){0}
                                                       : outcome_bytes(outcome, row, ROW_OWNER),
    };
}

static void get_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!outcome_usable(request, outcome))
        return;
    if (!outcome->rows) {
        reply_no_fork(request);
        return;
    }
    struct fork_view view = row_view(outcome, 0);
    struct buffer json = {0};
    write_fork(&json, request, &view);
    buffer_add_char(&json, '\n');
    reply_json_buffer(request, 200, &json);
}

void fork_get(struct request *request)
{
    if (!check_id(request))
        return;
    struct read_call *call = arena_zalloc(&request->arena, sizeof *call);
    call->values[0] = value_bytes(fork_claim(request, request->parameters[0]));
    call->operation = (struct operation){
        .statement = &get_fork, .values = call->values, .done = get_done, .owner = request};
    request_submit(request, &call->operation);
}

static struct bytes list_scope(void)
{
    return bytes_of("forks");
}

static void list_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    struct read_call *call = (struct read_call *)operation;
    if (!outcome_usable(request, outcome))
        return;
    bool more = outcome->rows > call->limit; // one beyond the page was asked for
    int rows = more ? (int)call->limit : outcome->rows;
    struct buffer json = {0};
    buffer_add_text(&json, "{\"forks\":[");
    for (int row = 0; row < rows; row++) {
        struct fork_view view = row_view(outcome, row);
        if (row)
            buffer_add_char(&json, ',');
        write_fork(&json, request, &view);
    }
    buffer_add_text(&json, "],\"cursor\":");
    if (more)
        buffer_printf(&json, "\"%s\"",
                      cursor_make(&request->arena, list_scope(),
                                  name_shown(request, outcome_bytes(outcome, rows - 1, ROW_ID))));
    else
        buffer_add_text(&json, "null");
    buffer_add_text(&json, "}\n");
    reply_json_buffer(request, 200, &json);
}

void fork_list(struct request *request)
{
    struct list_query list;
    if (!list_query_read(request, list_scope(), &list))
        return;
    struct read_call *call = arena_zalloc(&request->arena, sizeof *call);
    call->limit = list.limit;
    const struct token *token = token_of(request);
    call->values[LIST_AFTER] = list.resumed ? value_bytes(name_enter(request, list.position)) : value_null();
    call->values[LIST_PAGE] = value_number(list.limit + 1);
    call->values[LIST_OWNER] = token ? value_bytes(bytes_of(token->id)) : value_null();
    call->values[LIST_ADMINISTERED] = access_administered_forks(request);
    call->operation = (struct operation){
        .statement = &list_forks, .values = call->values, .done = list_done, .owner = request};
    request_submit(request, &call->operation);
}

// --- discarding
// -------------------------------------------------------------------------------------------------------

enum discard_result { DISCARDED, DISCARDED_POSITION };

static const struct statement discard_fork = {
    .name = "discard_fork",
    .sql = "select * from holdfast.discard_fork($1)",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
    .writes = true,
    .columns = 1,
    .column = {COLUMN_TEXT},
};

static void discard_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!outcome_usable(request, outcome))
        return;
    bool discarded = outcome_number(outcome, 0, DISCARDED) != 0;
    if (discarded)
        reply_position(request, outcome_number(outcome, 0, DISCARDED_POSITION));
    reply_json(request, 200, bytes_of(discarded ? "{\"discarded\":true}\n" : "{\"discarded\":false}\n"));
}

void fork_delete(struct request *request)
{
    if (!check_id(request))
        return;
    struct read_call *call = arena_zalloc(&request->arena, sizeof *call);
    call->values[0] = value_bytes(fork_claim(request, request->parameters[0]));
    call->operation = (struct operation){
        .statement = &discard_fork, .values = call->values, .done = discard_done, .owner = request};
    request_submit(request, &call->operation);
}

// --- promoting
// --------------------------------------------------------------------------------------------------------

enum {
    PROMOTE_ID,
    PROMOTE_IF_UNCHANGED,
    PROMOTE_STREAM,
    PROMOTE_SESSION,
    PROMOTE_REQUEST,
    PROMOTE_TOKEN,
    PROMOTE_SEALS,
    PROMOTE_WRITABLE,
    PROMOTE_COLUMNS,
};
enum promote_result {
    PROMOTED_STATUS,
    PROMOTED_ROWS,
    PROMOTED_POSITION,
    PROMOTED_BUCKET,
    PROMOTED_PATH,
    PROMOTED_KIND,
    PROMOTED_MOST,
    PROMOTED_OWN_KIND,
    PROMOTED_VERSION,
    PROMOTED_CONTENT_TYPE,
    PROMOTED_METADATA,
    PROMOTED_VALUE,
};
enum promote_status {
    PROMOTED,
    PROMOTE_NO_FORK,
    PROMOTE_MOVED,
    PROMOTE_OTHER_KIND,
    PROMOTE_OTHER_TYPE,
    PROMOTE_SEALED,
    PROMOTE_TOO_MUCH,
    PROMOTE_TOO_LARGE,
    PROMOTE_FORBIDDEN,
    PROMOTED_SEALED = 30, // an entry, before the row of the whole
};

enum { PROMOTE_SEALED_MOST = 256 << 20 };

static const struct statement promote_fork = {
    .name = "promote_fork",
    .sql = "select * from holdfast.promote_fork($1, $2, $3, $4, $5, $6, $7, $8)",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
    .writes = true,
    .columns = PROMOTE_COLUMNS,
    .column = {COLUMN_TEXT, COLUMN_BOOL, COLUMN_TEXT, COLUMN_TEXT, COLUMN_TEXT, COLUMN_TEXT, COLUMN_BOOL,
               COLUMN_TEXT},
};

struct promote_call {
    struct operation operation; // first: the operation is the call
    struct value values[PROMOTE_COLUMNS];
    struct sealed_write sealed; // when some of its values are
    struct stored_entry entry;
    bool corrupt; // the entry does not open
};

// The member `keys` of a problem.
static const char *refused_keys(struct request *request, const struct outcome *outcome)
{
    struct buffer json = {0};
    buffer_add_text(&json, "\"keys\":[");
    for (int row = 0; row < outcome->rows; row++) {
        buffer_add_text(&json, row ? ",{\"bucket\":" : "{\"bucket\":");
        buffer_add_json(&json, name_shown(request, outcome_bytes(outcome, row, PROMOTED_BUCKET)));
        buffer_add_char(&json, ',');
        entry_json_place(&json, &request->arena, outcome_bytes(outcome, row, PROMOTED_PATH));
        buffer_add_char(&json, '}');
    }
    buffer_add_char(&json, ']');
    const char *copy = (const char *)arena_copy(&request->arena, buffer_view(&json)).data;
    buffer_free(&json);
    return copy;
}

static void reply_moved(struct request *request, const struct outcome *outcome)
{
    struct problem problem = {
        .kind = PROBLEM_BUSY,
        .detail = "the main data of these keys changed since the fork saw them; nothing was done",
        .extra = refused_keys(request, outcome),
    };
    reply_problem(request, &problem);
}

static void reply_promotes_too_large(struct request *request, const struct outcome *outcome)
{
    struct problem problem = {
        .kind = PROBLEM_TOO_LARGE,
        .detail =
            "the value of this key is larger than its bucket's max_value_bytes by now; nothing was done",
        .limit = outcome_number(outcome, 0, PROMOTED_MOST),
        .extra = refused_keys(request, outcome),
    };
    reply_problem(request, &problem);
}

// Seals for the main data what was sealed for the fork.
static bool seal_promoted(struct sealed_write *write, struct promote_call *call,
                          const struct outcome *outcome, int row)
{
    struct declared_type target;
    struct stored_entry *entry = &call->entry;
    *entry = (struct stored_entry){
        .bucket = outcome_bytes(outcome, row, PROMOTED_BUCKET),
        .fork = call->values[PROMOTE_ID].bytes,
        .path = outcome_bytes(outcome, row, PROMOTED_PATH),
        .version = outcome_number(outcome, row, PROMOTED_VERSION),
        .declared = outcome_bytes(outcome, row, PROMOTED_OWN_KIND),
        .content_type = outcome_bytes(outcome, row, PROMOTED_CONTENT_TYPE),
        .metadata = outcome_bytes(outcome, row, PROMOTED_METADATA),
        .has_value = true,
        .value = outcome_bytes(outcome, row, PROMOTED_VALUE),
    };
    if (!declared_type_parse(outcome_bytes(outcome, row, PROMOTED_KIND), &target) ||
        !entry_open(write->context, write->arena, entry))
        return false;
    struct address address = {.bucket = entry->bucket, .path = entry->path};
    struct content content = {
        .value = entry->value,
        .content_type = entry->content_type.size ? value_bytes(entry->content_type) : value_null(),
        .metadata = entry->metadata.size ? value_bytes(entry->metadata) : value_null(),
    };
    sealed_write_fill(write, &address, outcome_number(outcome, row, PROMOTED_POSITION), &content,
                      !target.encrypted);
    return true;
}

static enum sealed_verdict seal_all(struct sealed_write *write, const struct outcome *outcome)
{
    struct promote_call *call = write->owner;
    for (int row = 0; row < outcome->rows; row++)
        if (outcome_number(outcome, row, PROMOTED_STATUS) == PROMOTED_SEALED &&
            !seal_promoted(write, call, outcome, row)) {
            call->corrupt = true;
            return SEALED_UNDO;
        }
    return SEALED_KEEP;
}

static void promote_sealed(struct request *request, struct promote_call *call)
{
    if (!sealing_possible(request))
        return;
    call->corrupt = false;
    call->values[PROMOTE_SEALS] = value_number(true);
    call->operation.bucket = request->parameters[0];
    call->sealed = (struct sealed_write){
        .arena = &request->arena,
        .operation = &call->operation,
        .alone = true,
        .seal = seal_all,
        .owner = call,
    };
    sealed_write_submit(context_of(request), &call->sealed);
}

static void promote_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!outcome_usable(request, outcome))
        return;
    struct promote_call *call = (struct promote_call *)operation;
    int last = outcome->rows - 1;
    if (call->corrupt) {
        reply_corrupt(request, &call->entry);
        return;
    }
    switch ((enum promote_status)outcome_number(outcome, last, PROMOTED_STATUS)) {
    case PROMOTED:
        reply_position(request, outcome_number(outcome, last, PROMOTED_POSITION));
        reply_json(request, 200,
                   bytes_of(arena_printf(&request->arena, "{\"rows\":%lld}\n",
                                         (long long)outcome_number(outcome, last, PROMOTED_ROWS))));
        return;
    case PROMOTE_NO_FORK:
        reply_no_fork(request);
        return;
    case PROMOTE_MOVED:
        reply_moved(request, outcome);
        return;
    case PROMOTE_OTHER_KIND:
        reply_kind_mismatch(request, outcome_bytes(outcome, 0, PROMOTED_BUCKET),
                            outcome_bytes(outcome, 0, PROMOTED_KIND));
        return;
    case PROMOTE_OTHER_TYPE:
        reply_simple_problem(
            request, PROBLEM_TYPE_MISMATCH, "the bucket %s became one of type %s since the fork wrote in it",
            (const char *)arena_copy(&request->arena,
                                     name_shown(request, outcome_bytes(outcome, 0, PROMOTED_BUCKET)))
                .data,
            (const char *)arena_copy(&request->arena, outcome_bytes(outcome, 0, PROMOTED_KIND)).data);
        return;
    case PROMOTE_SEALED:
        promote_sealed(request, call);
        return;
    case PROMOTE_TOO_MUCH:
        reply_over_limit(request, PROBLEM_TOO_LARGE, "fork", PROMOTE_SEALED_MOST,
                         "the sealed values of the fork are too much for one transaction");
        return;
    case PROMOTED_SEALED: // never the last
        return;
    case PROMOTE_TOO_LARGE:
        reply_promotes_too_large(request, outcome);
        return;
    case PROMOTE_FORBIDDEN:
        reply_forbidden(request);
        return;
    }
}

void fork_promote(struct request *request)
{
    bool given;
    struct bytes text = request_argument(request, "if_unchanged", &given);
    if (!check_id(request))
        return;
    if (given && !bytes_is(text, "true") && !bytes_is(text, "false")) {
        reply_invalid(request, "if_unchanged", "true or false");
        return;
    }
    struct promote_call *call = arena_zalloc(&request->arena, sizeof *call);
    call->values[PROMOTE_ID] = value_bytes(fork_claim(request, request->parameters[0]));
    call->values[PROMOTE_IF_UNCHANGED] = value_number(given && bytes_is(text, "true"));
    call->values[PROMOTE_SEALS] = value_number(false);
    call->values[PROMOTE_WRITABLE] = access_writable_buckets(request);
    const struct session_links *links = context_of(request)->links;
    if (links) {
        call->values[PROMOTE_STREAM] = value_bytes(links->stream);
        call->values[PROMOTE_SESSION] = value_bytes(links->session);
        call->values[PROMOTE_REQUEST] = value_bytes(bytes_of(request->id));
        const struct token *token = token_of(request);
        call->values[PROMOTE_TOKEN] = token ? value_bytes(token->name) : value_null();
    }
    call->operation = (struct operation){
        .statement = &promote_fork, .values = call->values, .done = promote_done, .owner = request};
    request_submit(request, &call->operation);
}
