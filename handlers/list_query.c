// Reading `limit` and `cursor`.
#include "handlers/list_query.h"

#include "base/text.h"
#include "handlers/cursor.h"

bool list_query_read(struct request *request, struct bytes scope, struct list_query *list)
{
    bool has_limit, has_cursor;
    struct bytes limit = request_argument(request, "limit", &has_limit);
    struct bytes cursor = request_argument(request, "cursor", &has_cursor);
    *list = (struct list_query){.limit = LIST_DEFAULT, .resumed = has_cursor};
    if (has_limit && (!text_int64(limit, &list->limit) || list->limit < 1 || list->limit > LIST_MOST)) {
        reply_over_limit(request, PROBLEM_INVALID, "limit", LIST_MOST, "a page has 1 to 1000 items");
        return false;
    }
    if (has_cursor && !cursor_read(&request->arena, scope, cursor, &list->position)) {
        reply_invalid(request, "cursor", "the cursor does not belong to this request");
        return false;
    }
    return true;
}
