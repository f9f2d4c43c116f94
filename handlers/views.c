// One statement reads all entries, so they are of one snapshot.
#include "handlers/views.h"

#include "handlers/entry_call.h"
#include "handlers/entry_json.h"
#include "handlers/item_input.h"
#include "handlers/outcome.h"
#include "handlers/text_input.h"
#include "handlers/view_call.h"

struct view {
    struct view_call call; // first: the operation is the view
    struct request *request;
    struct address *addresses;
    size_t count;
};

static struct entry_view row_view(const struct view *view, const struct outcome *outcome, int row)
{
    struct request *request = view->request;
    bool expires = !outcome_null(outcome, row, VIEWED_EXPIRES_AT);
    struct stored_entry stored = viewed_entry(&view->addresses[row], outcome, row);
    struct entry_view entry = {
        .bucket = name_shown(request, view->addresses[row].bucket),
        .path = view->addresses[row].path,
        .version = stored.version,
        .expires = expires,
        .expires_at = expires ? outcome_time(outcome, row, VIEWED_EXPIRES_AT) : 0,
        .size = (int64_t)size_opened(stored.content_type, (size_t)outcome_number(outcome, row, VIEWED_SIZE)),
        .with_value = true,
    };
    entry_view_open(context_of(request), &request->arena, &stored, &entry);
    return entry;
}

static void reply_view(const struct view *view, const struct outcome *outcome)
{
    struct request *request = view->request;
    struct buffer json = {0};
    buffer_printf(&json, "{\"position\":\"%lld\",\"entries\":[",
                  (long long)outcome_number(outcome, 0, VIEWED_POSITION));
    for (int row = 0; row < outcome->rows; row++) {
        if (row)
            buffer_add_char(&json, ',');
        if (outcome_number(outcome, row, VIEWED_STATUS) == GET_LIVE) {
            struct entry_view entry = row_view(view, outcome, row);
            entry_json_write(&json, &request->arena, &entry);
        } else {
            buffer_add_text(&json, "null");
        }
    }
    buffer_add_text(&json, "]}\n");
    reply_json_buffer(request, 200, &json);
}

// Replies when one of the names is no bucket's.
static bool kinds_fit(const struct view *view, const struct outcome *outcome)
{
    for (int row = 0; row < outcome->rows; row++)
        if (outcome_number(outcome, row, VIEWED_STATUS) == GET_OTHER_KIND) {
            reply_item_kind_mismatch(view->request, (struct item_place){"reads", (size_t)row},
                                     view->addresses[row].bucket, outcome_bytes(outcome, row, VIEWED_KIND));
            return false;
        }
    return true;
}

static void view_done(struct operation *operation, const struct outcome *outcome)
{
    struct view *view = (struct view *)operation;
    struct request *request = view->request;
    if (!outcome_usable(request, outcome) || !kinds_fit(view, outcome))
        return;
    switch (view_call_size(context_of(request), &view->call, outcome)) {
    case VIEW_COMPLETE:
        reply_view(view, outcome);
        return;
    case VIEW_SUBMITTED:
        return;
    case VIEW_TOO_LARGE:
        break;
    }
    reply_over_limit(request, PROBLEM_TOO_LARGE, "reads", VIEW_BYTES,
                     "the values are too much for one reply: read fewer entries");
}

static bool read_item(struct view *view, size_t i, struct bytes text)
{
    static const char *const members[] = {"bucket", "key", "key_base64", "under", NULL};
    struct item_input item;
    bool good = item_open(&item, view->request, (struct item_place){"reads", i}, text, members) &&
                item_address(&item, GRANT_READ, &view->addresses[i]);
    item_close(&item);
    return good;
}

void view_read(struct request *request)
{
    static const char *const members[] = {"reads", NULL};
    struct bytes *texts;
    struct view *view = arena_zalloc(&request->arena, sizeof *view);
    view->request = request;
    if (!text_request(request, members) || !items_split(request, "reads", 0, &texts, &view->count))
        return;
    if (!view->count) {
        reply_invalid(request, "reads", "an array of 1 to 1000 reads is wanted");
        return;
    }
    view->addresses = arena_alloc(&request->arena, view->count * sizeof *view->addresses);
    for (size_t i = 0; i < view->count; i++)
        if (!read_item(view, i, texts[i]))
            return;
    view_call_submit(request, &view->call, view->addresses, view->count, view_done, view);
}
