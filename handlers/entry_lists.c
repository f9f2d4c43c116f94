// Lists of entries.
#include "handlers/entry_lists.h"

#include "base/path.h"
#include "base/text.h"
#include "handlers/cursor.h"
#include "handlers/entry_call.h"
#include "handlers/entry_json.h"
#include "handlers/json_input.h"
#include "handlers/list_query.h"
#include "handlers/outcome.h"

// --- bounds
// -----------------------------------------------------------------------------------------------------------

// Which paths a list or a removal is about.
struct bounds {
    struct bytes bucket;
    struct bytes low;
    struct bytes high; // data NULL: no end
    size_t skip;       // where the key begins in a path of the branch itself
    struct value contains;
    bool narrowed; // by anything but the branch
};

static struct bytes join(struct request *request, struct bytes prefix, uint8_t mark, struct bytes rest)
{
    uint8_t *joined = arena_alloc(&request->arena, prefix.size + 1 + rest.size);
    if (prefix.size)
        memcpy(joined, prefix.data, prefix.size);
    joined[prefix.size] = mark;
    if (rest.size)
        memcpy(joined + prefix.size + 1, rest.data, rest.size);
    return bytes_make(joined, prefix.size + 1 + rest.size);
}

static int compare(struct bytes a, struct bytes b)
{
    size_t shorter = a.size < b.size ? a.size : b.size;
    int order = shorter ? memcmp(a.data, b.data, shorter) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

static bool read_branch(struct request *request, struct bytes *branch)
{
    struct bytes owners[PATH_MAX_OWNERS];
    size_t count = request_arguments(request, "under", owners, PATH_MAX_OWNERS);
    if (count <= PATH_MAX_OWNERS && path_encode_branch(&request->arena, owners, count, branch) == PATH_OK)
        return true;
    reply_invalid(request, "under", "an owner has at least one byte, a branch at most %d owners and %d bytes",
                  PATH_MAX_OWNERS, PATH_MAX_STORED);
    return false;
}

// The branch's own keys, narrowed by prefix, start and end.
static void narrow(struct request *request, struct bytes branch, struct bounds *bounds)
{
    bool has_prefix, has_start, has_end, has_contains;
    struct bytes prefix = request_argument(request, "prefix", &has_prefix);
    struct bytes start = request_argument(request, "start", &has_start);
    struct bytes end = request_argument(request, "end", &has_end);
    struct bytes contains = request_argument(request, "contains", &has_contains);
    bounds->narrowed = has_prefix || has_start || has_end || has_contains;
    bounds->skip = branch.size + 1;
    bounds->contains = has_contains ? value_bytes(contains) : value_null();
    bounds->low = join(request, branch, 1, prefix);
    path_successor(&request->arena, bounds->low, &bounds->high); // the mark is no 0xff: there is one
    if (has_start) {
        struct bytes low = join(request, branch, 1, start);
        if (compare(low, bounds->low) > 0)
            bounds->low = low;
    }
    if (has_end) {
        struct bytes high = join(request, branch, 1, end);
        if (compare(high, bounds->high) < 0)
            bounds->high = high;
    }
}

static bool read_bounds(struct request *request, struct bytes *branch, struct bounds *bounds)
{
    *bounds = (struct bounds){.bucket = request->parameters[0]};
    if (!bucket_name_check(request, bounds->bucket) || !read_branch(request, branch))
        return false;
    narrow(request, *branch, bounds);
    return true;
}

// --- scan
// -------------------------------------------------------------------------------------------------------------

enum {
    SCAN_NAME,
    SCAN_LOW,
    SCAN_HIGH,
    SCAN_AFTER,
    SCAN_SKIP,
    SCAN_CONTAINS,
    SCAN_PAGE,
    SCAN_BYTES,
    SCAN_WANTED,
    SCAN_COLUMNS,
};

enum scan_result {
    SCANNED_STATUS,
    SCANNED_PATH,
    SCANNED_VERSION,
    SCANNED_EXPIRES_AT,
    SCANNED_CONTENT_TYPE,
    SCANNED_SIZE,
    SCANNED_VALUE,
    SCANNED_TYPE,
};

enum { PAGE_BYTES = 4 << 20, CLEAR_MOST = 10000, BATCH_MOST = 1000, BATCH_BYTES = 16 << 20 };

static const struct statement scan_entries = {
    .name = "scan_entries",
    .sql = "select * from holdfast.scan_entries($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    .form = STATEMENT_ALONE,
    .role = ROLE_LIST,
    .columns = SCAN_COLUMNS,
    .column = {COLUMN_TEXT, COLUMN_BYTEA, COLUMN_BYTEA, COLUMN_BYTEA, COLUMN_INT4, COLUMN_BYTEA, COLUMN_INT4,
               COLUMN_INT8, COLUMN_BOOL},
};

struct scan_call {
    struct operation operation; // first: the operation is the call
    struct value values[SCAN_COLUMNS];
    struct bytes scope; // what its cursors belong to
    int64_t limit;
};

static struct entry_view row_view(const struct outcome *outcome, int row, bool with_value)
{
    return (struct entry_view){
        .path = outcome_bytes(outcome, row, SCANNED_PATH),
        .version = outcome_number(outcome, row, SCANNED_VERSION),
        .expires = !outcome_null(outcome, row, SCANNED_EXPIRES_AT),
        .expires_at = outcome_time(outcome, row, SCANNED_EXPIRES_AT),
        .content_type = outcome_bytes(outcome, row, SCANNED_CONTENT_TYPE),
        .type = outcome_bytes(outcome, row, SCANNED_TYPE),
        .size = outcome_number(outcome, row, SCANNED_SIZE),
        .with_value = with_value,
        .value = outcome_bytes(outcome, row, SCANNED_VALUE),
    };
}

// How many rows belong to the page: a row whose value was left out began the next one.
static int page_rows(const struct scan_call *call, const struct outcome *outcome, bool with_value)
{
    int rows = outcome->rows > call->limit ? (int)call->limit : outcome->rows;
    for (int row = 0; with_value && row < rows; row++)
        if (outcome_null(outcome, row, SCANNED_VALUE))
            return row;
    return rows;
}

static void reply_page(struct request *request, const struct scan_call *call, const struct outcome *outcome)
{
    bool with_value = call->values[SCAN_WANTED].number != 0;
    int rows = page_rows(call, outcome, with_value);
    struct buffer json = {0};
    buffer_add_text(&json, "{\"entries\":[");
    for (int row = 0; row < rows; row++) {
        struct entry_view view = row_view(outcome, row, with_value);
        if (row)
            buffer_add_char(&json, ',');
        entry_json_write(&json, &request->arena, &view);
    }
    buffer_add_text(&json, "],\"cursor\":");
    if (rows < outcome->rows)
        buffer_printf(
            &json, "\"%s\"",
            cursor_make(&request->arena, call->scope, outcome_bytes(outcome, rows - 1, SCANNED_PATH)));
    else
        buffer_add_text(&json, "null");
    buffer_add_text(&json, "}\n");
    reply_json_buffer(request, 200, &json);
}

static void scan_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!outcome_usable(request, outcome))
        return;
    int64_t status = outcome->rows ? outcome_number(outcome, 0, SCANNED_STATUS) : 0;
    if (status == GET_NO_BUCKET)
        reply_no_bucket(request, request->parameters[0]);
    else if (status == GET_OTHER_KIND)
        reply_kind_mismatch(request, request->parameters[0], outcome_bytes(outcome, 0, SCANNED_TYPE));
    else
        reply_page(request, (struct scan_call *)operation, outcome);
}

static void scope_add(struct buffer *scope, struct bytes part)
{
    buffer_add_u32(scope, (uint32_t)part.size);
    buffer_add_bytes(scope, part);
}

// A cursor belongs to its bucket, branch and bounds; how much of each entry is shown may change between
// pages.
static struct bytes scan_scope(struct request *request, const struct bounds *bounds)
{
    struct buffer scope = {0};
    buffer_add_text(&scope, "entries");
    scope_add(&scope, bounds->bucket);
    scope_add(&scope, bounds->low);
    scope_add(&scope, bounds->high);
    scope_add(&scope, bounds->contains.bytes);
    struct bytes copy = arena_copy(&request->arena, buffer_view(&scope));
    buffer_free(&scope);
    return copy;
}

static bool read_flag(struct request *request, const char *name, bool standard, bool *flag)
{
    bool given;
    struct bytes text = request_argument(request, name, &given);
    *flag = given ? bytes_is(text, "true") : standard;
    if (!given || *flag || bytes_is(text, "false"))
        return true;
    reply_invalid(request, name, "true or false");
    return false;
}

void entries_scan(struct request *request)
{
    struct bytes branch;
    struct bounds bounds;
    struct list_query list;
    bool values;
    if (!read_bounds(request, &branch, &bounds) || !read_flag(request, "values", true, &values))
        return;
    struct scan_call *call = arena_zalloc(&request->arena, sizeof *call);
    call->scope = scan_scope(request, &bounds);
    if (!list_query_read(request, call->scope, &list))
        return;
    call->limit = list.limit;
    call->values[SCAN_NAME] = value_bytes(bounds.bucket);
    call->values[SCAN_LOW] = value_bytes(bounds.low);
    call->values[SCAN_HIGH] = value_bytes(bounds.high);
    call->values[SCAN_AFTER] = list.resumed ? value_bytes(list.position) : value_null();
    call->values[SCAN_SKIP] = value_number((int64_t)bounds.skip);
    call->values[SCAN_CONTAINS] = bounds.contains;
    call->values[SCAN_PAGE] = value_number(list.limit + 1);
    call->values[SCAN_BYTES] = value_number(PAGE_BYTES);
    call->values[SCAN_WANTED] = value_number(values);
    call->operation = (struct operation){
        .statement = &scan_entries, .values = call->values, .done = scan_done, .owner = request};
    store_submit(context_of(request)->store, &call->operation);
}

// --- clear
// ------------------------------------------------------------------------------------------------------------

enum { CLEAR_NAME, CLEAR_LOW, CLEAR_HIGH, CLEAR_SKIP, CLEAR_CONTAINS, CLEAR_LIMIT, CLEAR_COLUMNS };
enum clear_result { CLEARED_STATUS, CLEARED_REMOVED, CLEARED_POSITION, CLEARED_KIND };

static const struct statement clear_range = {
    .name = "clear_range",
    .sql = "select * from holdfast.clear_range($1, $2, $3, $4, $5, $6)",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
    .writes = true,
    .columns = CLEAR_COLUMNS,
    .column = {COLUMN_TEXT, COLUMN_BYTEA, COLUMN_BYTEA, COLUMN_INT4, COLUMN_BYTEA, COLUMN_INT4},
};

struct clear_call {
    struct operation operation; // first: the operation is the call
    struct value values[CLEAR_COLUMNS];
};

static void clear_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!outcome_usable(request, outcome))
        return;
    int64_t status = outcome_number(outcome, 0, CLEARED_STATUS);
    if (status == GET_NO_BUCKET) {
        reply_no_bucket(request, request->parameters[0]);
        return;
    }
    if (status == GET_OTHER_KIND) {
        reply_kind_mismatch(request, request->parameters[0], outcome_bytes(outcome, 0, CLEARED_KIND));
        return;
    }
    reply_position(request, outcome_number(outcome, 0, CLEARED_POSITION));
    if (outcome_null(outcome, 0, CLEARED_REMOVED))
        reply_json(request, 200, bytes_of("{\"removed\":null}\n"));
    else
        reply_json(request, 200,
                   bytes_of(arena_printf(&request->arena, "{\"removed\":%lld}\n",
                                         (long long)outcome_number(outcome, 0, CLEARED_REMOVED))));
}

void entries_clear(struct request *request)
{
    struct bytes branch;
    struct bounds bounds;
    if (!read_bounds(request, &branch, &bounds))
        return;
    if (!bounds.narrowed) { // the branch and all below it
        bounds.low = branch;
        if (!path_successor(&request->arena, branch, &bounds.high))
            bounds.high = (struct bytes){0};
    }
    struct clear_call *call = arena_zalloc(&request->arena, sizeof *call);
    call->values[CLEAR_NAME] = value_bytes(bounds.bucket);
    call->values[CLEAR_LOW] = value_bytes(bounds.low);
    call->values[CLEAR_HIGH] = bounds.high.data ? value_bytes(bounds.high) : value_null();
    call->values[CLEAR_SKIP] = value_number((int64_t)bounds.skip);
    call->values[CLEAR_CONTAINS] = bounds.contains;
    call->values[CLEAR_LIMIT] = value_number(CLEAR_MOST);
    call->operation = (struct operation){
        .statement = &clear_range, .values = call->values, .done = clear_done, .owner = request};
    store_submit(context_of(request)->store, &call->operation);
}

// --- batch-get
// --------------------------------------------------------------------------------------------------------

struct batch;

struct batch_item {
    struct get_call call; // first: the operation is the item
    struct batch *batch;
    struct held *held; // NULL for null
    struct entry_view view;
};

struct batch {
    struct request *request;
    size_t count;
    size_t left;
    size_t bytes;
    struct outcome failure; // of the first read that failed
    bool failed;
    const char *kind;
    struct batch_item items[];
};

static void release_items(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        held_release(batch->items[i].held);
}

static void batch_reply(struct batch *batch)
{
    struct request *request = batch->request;
    struct buffer json = {0};
    buffer_add_text(&json, "{\"entries\":[");
    for (size_t i = 0; i < batch->count; i++) {
        if (i)
            buffer_add_char(&json, ',');
        if (batch->items[i].held)
            entry_json_write(&json, &request->arena, &batch->items[i].view);
        else
            buffer_add_text(&json, "null");
    }
    buffer_add_text(&json, "]}\n");
    reply_json_buffer(request, 200, &json);
}

static void reply_too_much(struct request *request, const char *detail, int limit)
{
    struct problem problem = {
        .kind = PROBLEM_TOO_LARGE,
        .detail = detail,
        .extra = arena_printf(&request->arena, "\"limit\":%d", limit),
    };
    reply_problem(request, &problem);
}

static void batch_finish(struct batch *batch)
{
    struct request *request = batch->request;
    if (batch->failed) {
        release_items(batch);
        outcome_usable(request, &batch->failure);
        return;
    }
    if (batch->kind) {
        release_items(batch);
        reply_kind_mismatch(request, request->parameters[0], bytes_of(batch->kind));
        return;
    }
    if (batch->bytes > BATCH_BYTES) {
        release_items(batch);
        reply_too_much(request, "the values are too much for one reply: ask for fewer keys", BATCH_BYTES);
        return;
    }
    batch_reply(batch);
    release_items(batch);
}

static void batch_item_live(struct batch_item *item, const struct outcome *outcome)
{
    item->held = outcome_hold(outcome);
    item->view = (struct entry_view){
        .path = item->call.operation.key,
        .version = outcome_number(outcome, 0, GOT_VERSION),
        .expires = !outcome_null(outcome, 0, GOT_EXPIRES_AT),
        .expires_at = outcome_time(outcome, 0, GOT_EXPIRES_AT),
        .content_type = outcome_bytes(outcome, 0, GOT_CONTENT_TYPE),
        .type = outcome_bytes(outcome, 0, GOT_KIND),
        .size = outcome_number(outcome, 0, GOT_SIZE),
        .with_value = true,
        .value = outcome_bytes(outcome, 0, GOT_VALUE),
    };
}

static void batch_item_done(struct operation *operation, const struct outcome *outcome)
{
    struct batch_item *item = (struct batch_item *)operation;
    struct batch *batch = item->batch;
    if (outcome->kind != OUTCOME_ROWS) {
        batch->failed = true;
        batch->failure = *outcome;
    } else if (outcome_number(outcome, 0, GOT_STATUS) == GET_LIVE) {
        // Past the limit nothing more is fetched; the reply only says so.
        bool counted = operation->statement->role == ROLE_LARGE;
        if (!counted)
            batch->bytes += (size_t)outcome_number(outcome, 0, GOT_SIZE);
        if (batch->bytes <= BATCH_BYTES && get_call_large(context_of(batch->request), &item->call, outcome))
            return;
        if (batch->bytes <= BATCH_BYTES)
            batch_item_live(item, outcome);
    } else if (outcome_number(outcome, 0, GOT_STATUS) == GET_OTHER_KIND) {
        batch->kind =
            (const char *)arena_copy(&batch->request->arena, outcome_bytes(outcome, 0, GOT_KIND)).data;
    }
    if (--batch->left == 0)
        batch_finish(batch);
}

static bool read_key(struct request *request, json_t *given, struct bytes *key)
{
    if (json_is_string(given)) {
        *key = bytes_make(json_string_value(given), json_string_length(given));
        return true;
    }
    if (json_is_object(given))
        return input_bytes(request, given, "key", "key_base64", true, key);
    reply_invalid(request, "keys", "a key is a string, or an object with key or key_base64");
    return false;
}

static bool read_paths(struct request *request, json_t *keys, const struct bytes *owners, size_t owner_count,
                       struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct bytes key;
        if (!read_key(request, json_array_get(keys, i), &key) ||
            !input_path(request, owners, owner_count, key, &batch->items[i].call.operation.key))
            return false;
    }
    return true;
}

void entries_batch_get(struct request *request)
{
    static const char *const members[] = {"keys", "under", NULL};
    struct bytes owners[PATH_MAX_OWNERS];
    size_t owner_count;
    struct bytes bucket = request->parameters[0];
    if (!bucket_name_check(request, bucket))
        return;
    json_t *object = request_json(request, false);
    if (!object || !request_json_members(request, object, members) ||
        !input_owners(request, object, "under", owners, &owner_count))
        return;
    json_t *keys = json_object_get(object, "keys");
    if (!json_is_array(keys)) {
        reply_invalid(request, "keys", "an array of keys is wanted");
        return;
    }
    if (json_array_size(keys) > BATCH_MOST) {
        reply_too_much(request, "there are more keys than a batch may have", BATCH_MOST);
        return;
    }
    size_t count = json_array_size(keys);
    struct batch *batch = arena_zalloc(&request->arena, sizeof *batch + count * sizeof batch->items[0]);
    batch->request = request;
    batch->count = batch->left = count;
    if (!read_paths(request, keys, owners, owner_count, batch))
        return;
    if (!count) {
        batch_reply(batch);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct address address = {bucket, batch->items[i].call.operation.key};
        batch->items[i].batch = batch;
        get_call_submit(context_of(request), &batch->items[i].call, &address, value_null(), true,
                        batch_item_done, batch);
    }
}
