// Clients that serve many deployments look here instead of trying what may be switched off, and cut their
// work to the limits.
#include "handlers/capabilities.h"

#include "base/duration.h"
#include "base/path.h"
#include "handlers/address.h"
#include "handlers/context.h"
#include "handlers/entry_get.h"
#include "handlers/item_input.h"
#include "handlers/list_query.h"

static const char *text_of(bool offered)
{
    return offered ? "true" : "false";
}

// A member's name is the `capability` of the problem that refuses it.
static const char *switches(struct request *request)
{
    const struct context *context = context_of(request);
    return arena_printf(&request->arena, "{\"encryption\":%s,\"metrics\":%s,\"ui\":%s}",
                        text_of(context->keys != NULL), text_of(context->metrics != NULL),
                        text_of(context->console));
}

static const char *limits(struct request *request)
{
    char lease_ttl[24];
    duration_format(context_of(request)->max_lease_ttl, lease_ttl);
    return arena_printf(
        &request->arena,
        "{\"name_bytes\":%d,\"key_bytes\":%d,\"owners\":%d,\"value_bytes\":%d,\"content_type_bytes\":%d,"
        "\"metadata_bytes\":%d,\"json_bytes\":%d,\"json_depth\":%d,\"page_items\":%d,\"call_items\":%d,"
        "\"wait\":\"%ds\",\"lease_ttl\":\"%s\"}",
        ADDRESS_NAME_BYTES, PATH_MAX_STORED, PATH_MAX_OWNERS, VALUE_LIMIT, REQUEST_CONTENT_TYPE_BYTES,
        REQUEST_METADATA_BYTES, REQUEST_JSON_BYTES, REQUEST_JSON_DEPTH, LIST_MOST, ITEMS_MOST,
        PREFERRED_WAIT_MOST, lease_ttl);
}

void capabilities_get(struct request *request)
{
    const char *answer = arena_printf(
        &request->arena, "{\"version\":\"" HOLDFAST_VERSION "\",\"capabilities\":%s,\"limits\":%s}\n",
        switches(request), limits(request));
    reply_json(request, 200, bytes_of(answer));
}
