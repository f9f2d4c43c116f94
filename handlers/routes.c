// The table of routes: every path and method of the service, one row each.
#include "handlers/buckets.h"
#include "handlers/context.h"
#include "handlers/document.h"
#include "handlers/entries.h"
#include "handlers/entry_add.h"
#include "handlers/entry_expiry.h"
#include "handlers/entry_lists.h"
#include "handlers/entry_rewrite.h"
#include "handlers/entry_transfer.h"
#include "handlers/health.h"

#define BUCKET  "/v1/buckets/{bucket}"
#define ENTRIES BUCKET "/entries"
#define ENTRY   ENTRIES "/{key}"

const struct route routes[] = {
    {"GET", ENTRY, entry_get, BODY_NONE, ROUTE_CONDITIONS, {"*under"}},
    {"HEAD", ENTRY, entry_get, BODY_NONE, ROUTE_CONDITIONS, {"*under"}},
    {"PUT",
     ENTRY,
     entry_put,
     BODY_VALUE,
     ROUTE_CONDITIONS | ROUTE_METADATA,
     {"*under", "ttl", "expires_at", "persist"}},
    {"DELETE", ENTRY, entry_delete, BODY_NONE, ROUTE_CONDITIONS, {"*under"}},

    {"PATCH",
     ENTRY,
     entry_patch,
     BODY_VALUE,
     ROUTE_CONDITIONS,
     {"*under", "ttl", "expires_at", "persist", "upsert"}},
    {"POST",
     ENTRY "/exchange",
     entry_exchange,
     BODY_VALUE,
     ROUTE_CONDITIONS | ROUTE_METADATA,
     {"*under", "ttl", "expires_at", "persist"}},
    {"POST",
     ENTRY "/compare-and-set",
     entry_compare_and_set,
     BODY_JSON,
     ROUTE_CONDITIONS,
     {"*under", "ttl", "expires_at", "persist"}},
    {"POST",
     ENTRY "/upsert",
     entry_upsert,
     BODY_JSON,
     ROUTE_CONDITIONS,
     {"*under", "ttl", "expires_at", "persist"}},
    {"POST", ENTRY "/take", entry_take, BODY_NONE, ROUTE_CONDITIONS, {"*under"}},
    {"POST", ENTRY "/add", entry_add, BODY_JSON, ROUTE_CONDITIONS, {"*under"}},
    {"PUT", ENTRY "/expiry", entry_expiry_put, BODY_JSON, ROUTE_CONDITIONS, {"*under"}},
    {"DELETE", ENTRY "/expiry", entry_expiry_delete, BODY_NONE, ROUTE_CONDITIONS, {"*under"}},

    {"POST", ENTRY "/copy", entry_copy, BODY_JSON, ROUTE_CONDITIONS, {"*under"}},
    {"POST", ENTRY "/move", entry_move, BODY_JSON, ROUTE_CONDITIONS, {"*under"}},

    {"GET",
     ENTRIES,
     entries_scan,
     BODY_NONE,
     0,
     {"*under", "prefix", "start", "end", "contains", "limit", "cursor", "values"}},
    {"DELETE", ENTRIES, entries_clear, BODY_NONE, 0, {"*under", "prefix", "start", "end", "contains"}},
    {"POST", BUCKET "/batch-get", entries_batch_get, BODY_JSON, 0, {0}},

    {"GET", "/v1/buckets", bucket_list, BODY_NONE, 0, {"prefix", "limit", "cursor"}},
    {"GET", BUCKET, bucket_get, BODY_NONE, 0, {0}},
    {"PUT", BUCKET, bucket_put, BODY_JSON, 0, {0}},
    {"DELETE", BUCKET, bucket_delete, BODY_NONE, 0, {0}},

    {"GET", "/livez", health_livez, BODY_NONE, ROUTE_HEALTH, {0}},
    {"HEAD", "/livez", health_livez, BODY_NONE, ROUTE_HEALTH, {0}},
    {"GET", "/readyz", health_readyz, BODY_NONE, ROUTE_HEALTH, {0}},
    {"HEAD", "/readyz", health_readyz, BODY_NONE, ROUTE_HEALTH, {0}},
    {"GET", "/openapi.json", document_json, BODY_NONE, 0, {0}},
    {"GET", "/openapi.yaml", document_yaml, BODY_NONE, 0, {0}},
    {0},
};
