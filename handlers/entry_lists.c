// Lists of entries.
#include "handlers/entry_lists.h"

#include "base/path.h"
#include "base/text.h"
#include "handlers/access.h"
#include "handlers/cursor.h"
#include "handlers/entry_call.h"
#include "handlers/entry_json.h"
#include "handlers/fork.h"
#include "handlers/json_input.h"
#include "handlers/list_query.h"
#include "handlers/outcome.h"
#include "handlers/write_source.h"

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

// The branch and all below it, whole.
static void reach_below(struct request *request, struct bytes branch, struct bounds *bounds)
{
    bounds->low = branch;
    if (!path_successor(&request->arena, branch, &bounds->high))
        bounds->high = (struct bytes){0};
}

static bool read_bounds(struct request *request, struct bytes *branch, struct bounds *bounds)
{
    *bounds = (struct bounds){.bucket = request->parameters[0]};
    if (!bucket_name_check(request, bounds->bucket) || !branch_read(request, branch))
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
    SCAN_MOST, // bytes: of one value, or of all together
    SCAN_COLUMNS,
};

enum { SCAN_FORK = SCAN_COLUMNS, SCAN_FORK_COLUMNS };

enum scan_result {
    SCANNED_STATUS,
    SCANNED_PATH,
    SCANNED_VERSION,
    SCANNED_EXPIRES_AT,
    SCANNED_CONTENT_TYPE,
    SCANNED_SIZE,
    SCANNED_VALUE,
    SCANNED_TYPE,
    SCANNED_METADATA,
};

enum { PAGE_BYTES = 4 << 20, CLEAR_MOST = 10000, BATCH_MOST = 1000, BATCH_BYTES = 16 << 20 };

#define SCAN_COLUMN_TYPES                                                                                    \
    COLUMN_TEXT, COLUMN_BYTEA, COLUMN_BYTEA, COLUMN_BYTEA, COLUMN_INT4, COLUMN_BYTEA, COLUMN_INT4, COLUMN_INT8
#define SCAN_STATEMENT(function)                                                                             \
    .sql = "select * from holdfast." function "($1, $2, $3, $4, $5, $6, $7, $8)", .form = STATEMENT_ALONE,   \
    .role = ROLE_LIST, .columns = SCAN_COLUMNS, .column = {SCAN_COLUMN_TYPES}
#define SCAN_FORK_STATEMENT(function)                                                                        \
    .sql = "select * from holdfast." function "($9, $1, $2, $3, $4, $5, $6, $7, $8)",                        \
    .form = STATEMENT_ALONE, .role = ROLE_LIST, .columns = SCAN_FORK_COLUMNS,                                \
    .column = {SCAN_COLUMN_TYPES, COLUMN_TEXT}

// Most pages have values so small that no sum of them passes PAGE_BYTES; when one is larger than its share,
// the page is asked for again with the sums looked at.
static const struct statement scan_entries = {.name = "scan_entries", SCAN_STATEMENT("scan_entries")};
static const struct statement scan_large_entries = {.name = "scan_large_entries",
                                                    SCAN_STATEMENT("scan_large_entries")};
static const struct statement scan_fork_entries = {.name = "scan_fork_entries",
                                                   SCAN_FORK_STATEMENT("scan_fork_entries")};
static const struct statement scan_large_fork_entries = {.name = "scan_large_fork_entries",
                                                         SCAN_FORK_STATEMENT("scan_large_fork_entries")};

struct scan_call {
    struct operation operation; // first: the operation is the call
    struct value values[SCAN_FORK_COLUMNS];
    const struct statement *large; // what asks again for a page of large values
    struct bytes scope;            // what its cursors belong to
    int64_t limit;
    bool with_values;
    bool with_sources;
    bool with_metadata;
    struct operation source; // the look at where the page's values came from
    struct outcome page;
    struct held *held; // keeps the page meanwhile
    int rows;
    int found;
};

static struct entry_view row_view(struct request *request, const struct scan_call *call,
                                  const struct outcome *outcome, int row)
{
    bool expires = !outcome_null(outcome, row, SCANNED_EXPIRES_AT);
    struct stored_entry entry = {
        .bucket = call->values[SCAN_NAME].bytes,
        .fork = call->values[SCAN_FORK].bytes,
        .path = outcome_bytes(outcome, row, SCANNED_PATH),
        .version = outcome_number(outcome, row, SCANNED_VERSION),
        .declared = outcome_bytes(outcome, row, SCANNED_TYPE),
        .content_type = outcome_bytes(outcome, row, SCANNED_CONTENT_TYPE),
        .partial = !call->with_metadata,
        .metadata = call->with_metadata ? outcome_bytes(outcome, row, SCANNED_METADATA) : (struct bytes){0},
        .has_value = !outcome_null(outcome, row, SCANNED_VALUE),
        .value = outcome_bytes(outcome, row, SCANNED_VALUE),
    };
    size_t size = entry.has_value ? entry.value.size : (size_t)outcome_number(outcome, row, SCANNED_SIZE);
    struct entry_view view = {
        .path = entry.path,
        .version = entry.version,
        .expires = expires,
        .expires_at = expires ? outcome_time(outcome, row, SCANNED_EXPIRES_AT) : 0,
        .size = (int64_t)size_opened(entry.content_type, size),
        .with_value = entry.has_value,
        .with_metadata = call->with_metadata,
    };
    entry_view_open(context_of(request), &request->arena, &entry, &view);
    return view;
}

// The first of the page's rows whose value did not come, or `rows`.
static int first_left_out(const struct outcome *outcome, int rows)
{
    int row = 0;
    while (row < rows && !outcome_null(outcome, row, SCANNED_VALUE))
        row++;
    return row;
}

// `rows` of the `found` belong to the page; what follows them is what the cursor is for. `sources` has a row
// for each of them, or is NULL.
static void reply_page(struct request *request, const struct scan_call *call, const struct outcome *outcome,
                       int rows, int found, const struct outcome *sources)
{
    struct buffer json = {0};
    buffer_add_text(&json, "{\"entries\":[");
    for (int row = 0; row < rows; row++) {
        struct entry_view view = row_view(request, call, outcome, row);
        view.sources = sources;
        view.source_row = row;
        view.request = request;
        if (row)
            buffer_add_char(&json, ',');
        entry_json_write(&json, &request->arena, &view);
    }
    buffer_add_text(&json, "],\"cursor\":");
    if (rows < found)
        buffer_printf(
            &json, "\"%s\"",
            cursor_make(&request->arena, call->scope, outcome_bytes(outcome, rows - 1, SCANNED_PATH)));
    else
        buffer_add_text(&json, "null");
    buffer_add_text(&json, "}\n");
    reply_json_buffer(request, 200, &json);
}

static void sources_found(struct operation *operation, const struct outcome *outcome)
{
    struct scan_call *call = operation->owner;
    struct request *request = call->operation.owner;
    if (outcome_usable(request, outcome))
        reply_page(request, call, &call->page, call->rows, call->found, outcome);
    held_release(call->held);
}

static void look_for_sources(struct request *request, struct scan_call *call, const struct outcome *outcome,
                             int rows, int found)
{
    struct bytes *paths = arena_alloc(&request->arena, (size_t)rows * sizeof *paths);
    int64_t *versions = arena_alloc(&request->arena, (size_t)rows * sizeof *versions);
    for (int row = 0; row < rows; row++) {
        paths[row] = outcome_bytes(outcome, row, SCANNED_PATH);
        versions[row] = outcome_number(outcome, row, SCANNED_VERSION);
    }
    call->held = outcome_hold(outcome);
    call->page = *outcome;
    call->rows = rows;
    call->found = found;
    write_source_submit(request, &call->source, request->parameters[0], call->values[SCAN_FORK].bytes, paths,
                        versions, (size_t)rows, sources_found, call);
}

static void page_found(struct request *request, struct scan_call *call, const struct outcome *outcome)
{
    int found = outcome_null(outcome, 0, SCANNED_PATH) ? 0 : outcome->rows;
    int rows = found > call->limit ? (int)call->limit : found;
    int complete = call->with_values ? first_left_out(outcome, rows) : rows;
    if (complete < rows && call->operation.statement != call->large) {
        call->operation.statement = call->large;
        call->values[SCAN_MOST] = value_number(PAGE_BYTES);
        request_submit(request, &call->operation);
        return;
    }
    if (call->with_sources && complete > 0)
        look_for_sources(request, call, outcome, complete, found);
    else
        reply_page(request, call, outcome, complete, found, NULL);
}

static void scan_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!outcome_usable(request, outcome) ||
        fork_refused(request, outcome_number(outcome, 0, SCANNED_STATUS)))
        return;
    switch (outcome_number(outcome, 0, SCANNED_STATUS)) {
    case GET_NO_BUCKET:
        reply_no_bucket(request, request->parameters[0]);
        return;
    case GET_OTHER_KIND:
        reply_kind_mismatch(request, request->parameters[0], outcome_bytes(outcome, 0, SCANNED_TYPE));
        return;
    default:
        page_found(request, (struct scan_call *)operation, outcome);
    }
}

static void scope_add(struct buffer *scope, struct bytes part)
{
    buffer_add_u32(scope, (uint32_t)part.size);
    buffer_add_bytes(scope, part);
}

// A cursor belongs to its bucket, branch, bounds and fork; how much of each entry is shown may change between
// pages.
static struct bytes scan_scope(struct request *request, const struct bounds *bounds, struct bytes fork)
{
    struct buffer scope = {0};
    buffer_add_text(&scope, "entries");
    scope_add(&scope, bounds->bucket);
    scope_add(&scope, bounds->low);
    scope_add(&scope, bounds->high);
    scope_add(&scope, bounds->contains.bytes);
    scope_add(&scope, fork);
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

// Bounds are of the keys of one branch; over many branches they mean nothing.
static bool widen(struct request *request, struct bytes branch, struct bounds *bounds)
{
    if (bounds->narrowed) {
        reply_invalid(request, "below", "a list of a branch with all below it takes no bounds of keys");
        return false;
    }
    reach_below(request, branch, bounds);
    return true;
}

void entries_scan(struct request *request)
{
    struct bytes branch;
    struct bounds bounds;
    struct list_query list;
    struct bytes fork;
    bool values, sources, metadata, below;
    if (!read_bounds(request, &branch, &bounds) || !fork_read(request, &fork) ||
        !read_flag(request, "values", true, &values) || !read_flag(request, "source", false, &sources) ||
        !read_flag(request, "metadata", false, &metadata) || !read_flag(request, "below", false, &below))
        return;
    if (below && !widen(request, branch, &bounds))
        return;
    struct scan_call *call = arena_zalloc(&request->arena, sizeof *call);
    call->scope = scan_scope(request, &bounds, fork);
    if (!list_query_read(request, call->scope, &list))
        return;
    call->limit = list.limit;
    call->values[SCAN_NAME] = value_bytes(bounds.bucket);
    call->values[SCAN_LOW] = value_bytes(bounds.low);
    call->values[SCAN_HIGH] = bounds.high.data ? value_bytes(bounds.high) : value_null();
    call->values[SCAN_AFTER] = list.resumed ? value_bytes(list.position) : value_null();
    call->values[SCAN_SKIP] = value_number((int64_t)bounds.skip);
    call->values[SCAN_CONTAINS] = bounds.contains;
    call->values[SCAN_FORK] = value_bytes(fork);
    call->large = fork.data ? &scan_large_fork_entries : &scan_large_entries;
    call->with_values = values;
    call->with_sources = sources;
    call->with_metadata = metadata;
    call->values[SCAN_PAGE] = value_number(list.limit + 1);
    call->values[SCAN_MOST] = value_number(values ? PAGE_BYTES / (list.limit + 1) : -1);
    call->operation = (struct operation){
        .statement = fork.data ? &scan_fork_entries : &scan_entries,
        .values = call->values,
        .done = scan_done,
        .owner = request,
    };
    request_submit(request, &call->operation);
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
    if (!bounds.narrowed)
        reach_below(request, branch, &bounds);
    struct clear_call *call = arena_zalloc(&request->arena, sizeof *call);
    call->values[CLEAR_NAME] = value_bytes(bounds.bucket);
    call->values[CLEAR_LOW] = value_bytes(bounds.low);
    call->values[CLEAR_HIGH] = bounds.high.data ? value_bytes(bounds.high) : value_null();
    call->values[CLEAR_SKIP] = value_number((int64_t)bounds.skip);
    call->values[CLEAR_CONTAINS] = bounds.contains;
    call->values[CLEAR_LIMIT] = value_number(CLEAR_MOST);
    call->operation = (struct operation){
        .statement = &clear_range, .values = call->values, .done = clear_done, .owner = request};
    request_submit(request, &call->operation);
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
    int64_t status; // of one that was refused
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

static void batch_finish(struct batch *batch)
{
    struct request *request = batch->request;
    if (batch->failed) {
        release_items(batch);
        outcome_usable(request, &batch->failure);
        return;
    }
    if (fork_refused(request, batch->status)) {
        release_items(batch);
        return;
    }
    if (batch->kind) {
        release_items(batch);
        reply_kind_mismatch(request, request->parameters[0], bytes_of(batch->kind));
        return;
    }
    if (batch->bytes > BATCH_BYTES) {
        release_items(batch);
        reply_over_limit(request, PROBLEM_TOO_LARGE, "keys", BATCH_BYTES,
                         "the values are too much for one reply: ask for fewer keys");
        return;
    }
    batch_reply(batch);
    release_items(batch);
}

static void batch_item_live(struct batch_item *item, const struct outcome *outcome)
{
    struct request *request = item->batch->request;
    struct stored_entry entry = got_entry(&item->call, outcome);
    item->held = outcome_hold(outcome);
    item->view = (struct entry_view){
        .path = entry.path,
        .version = entry.version,
        .expires = !outcome_null(outcome, 0, GOT_EXPIRES_AT),
        .expires_at = outcome_time(outcome, 0, GOT_EXPIRES_AT),
        .size = (int64_t)size_opened(entry.content_type, got_size(outcome)),
        .with_value = true,
    };
    entry_view_open(context_of(request), &request->arena, &entry, &item->view);
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
            batch->bytes += got_size(outcome);
        if (batch->bytes <= BATCH_BYTES && get_call_large(context_of(batch->request), &item->call, outcome))
            return;
        if (batch->bytes <= BATCH_BYTES)
            batch_item_live(item, outcome);
    } else if (outcome_number(outcome, 0, GOT_STATUS) == GET_OTHER_KIND) {
        batch->kind =
            (const char *)arena_copy(&batch->request->arena, outcome_bytes(outcome, 0, GOT_KIND)).data;
    } else if (outcome_number(outcome, 0, GOT_STATUS) > GET_OTHER_KIND) {
        batch->status = outcome_number(outcome, 0, GOT_STATUS);
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
    static const char *const members[] = {"key", "key_base64", NULL};
    if (json_is_object(given))
        return request_json_members(request, given, members) &&
               input_bytes(request, given, "key", "key_base64", true, key);
    reply_invalid(request, "keys", "a key is a string, or an object with key or key_base64");
    return false;
}

// Whether the caller may read the branch; what is no branch is refused with its keys.
static bool may_read(struct request *request, const struct bytes *owners, size_t count)
{
    struct bytes branch;
    if (path_encode_branch(&request->arena, owners, count, &branch) != PATH_OK)
        branch = (struct bytes){0};
    return access_check(request, GRANT_READ, GRANT_BUCKETS, request->parameters[0], branch);
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
    struct bytes fork;
    if (!bucket_name_check(request, bucket) || !fork_read(request, &fork))
        return;
    json_t *object = request_json(request, false);
    if (!object || !request_json_members(request, object, members) ||
        !input_owners(request, object, "under", owners, &owner_count) ||
        !may_read(request, owners, owner_count))
        return;
    json_t *keys = json_object_get(object, "keys");
    if (!json_is_array(keys)) {
        reply_invalid(request, "keys", "an array of keys is wanted");
        return;
    }
    if (json_array_size(keys) > BATCH_MOST) {
        reply_over_limit(request, PROBLEM_TOO_LARGE, "keys", BATCH_MOST,
                         "there are more keys than a batch may have");
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
        struct address address = {bucket, batch->items[i].call.operation.key, fork};
        batch->items[i].batch = batch;
        get_call_submit(context_of(request), &request->account, &batch->items[i].call, &address, value_null(),
                        true, batch_item_done, batch);
    }
}
