// The table of routes: every path and method of the service, one row each.
#include "handlers/access.h"
#include "handlers/buckets.h"
#include "handlers/capabilities.h"
#include "handlers/context.h"
#include "handlers/counters.h"
#include "handlers/document.h"
#include "handlers/entries.h"
#include "handlers/entry_add.h"
#include "handlers/entry_expiry.h"
#include "handlers/entry_get.h"
#include "handlers/entry_lists.h"
#include "handlers/entry_rewrite.h"
#include "handlers/entry_transfer.h"
#include "handlers/forks.h"
#include "handlers/health.h"
#include "handlers/leases.h"
#include "handlers/metrics.h"
#include "handlers/once.h"
#include "handlers/once_answer.h"
#include "handlers/once_run.h"
#include "handlers/pages.h"
#include "handlers/quotas.h"
#include "handlers/rate_gates.h"
#include "handlers/rate_limits.h"
#include "handlers/sessions.h"
#include "handlers/tokens.h"
#include "handlers/transactions.h"
#include "handlers/views.h"

#define BUCKET  "/v1/buckets/{bucket}"
#define ENTRIES BUCKET "/entries"
#define ENTRY   ENTRIES "/{key}"
#define LEASE   BUCKET "/leases/{key}"
#define FORK    "/v1/forks/{fork}"

#define COUNTER        "/v1/counters/{name}"
#define COUNTER_KEY    COUNTER "/{key}"
#define RATE_LIMIT     "/v1/rate-limits/{name}"
#define RATE_LIMIT_KEY RATE_LIMIT "/{key}"
#define RATE_GATE      "/v1/rate-gates/{name}"
#define RATE_GATE_KEY  RATE_GATE "/{key}"
#define QUOTA          "/v1/quotas/{name}"
#define QUOTA_KEY      QUOTA "/{key}"
#define ONCE           "/v1/once/{name}"
#define ONCE_KEY       ONCE "/{key}"

// What fences a write.
#define FENCE "fence_bucket", "fence_key", "*fence_under", "fence_token"

const struct route routes[] = {
    {"GET", ENTRY, READS_IN(BUCKETS), entry_get, BODY_NONE, ROUTE_CONDITIONS, {"*under", "fork", "at_least"}},
    {"PUT",
     ENTRY,
     WRITES_IN(BUCKETS),
     entry_put,
     BODY_VALUE,
     ROUTE_LINKS | ROUTE_CONDITIONS | ROUTE_METADATA,
     {"*under", "fork", "ttl", "expires_at", "persist", FENCE}},
    {"DELETE",
     ENTRY,
     WRITES_IN(BUCKETS),
     entry_delete,
     BODY_NONE,
     ROUTE_LINKS | ROUTE_CONDITIONS,
     {"*under", "fork", FENCE}},

    {"PATCH",
     ENTRY,
     WRITES_IN(BUCKETS),
     entry_patch,
     BODY_VALUE,
     ROUTE_LINKS | ROUTE_CONDITIONS,
     {"*under", "fork", "ttl", "expires_at", "persist", "upsert", FENCE}},
    {"POST",
     ENTRY "/exchange",
     WRITES_IN(BUCKETS),
     entry_exchange,
     BODY_VALUE,
     ROUTE_LINKS | ROUTE_CONDITIONS | ROUTE_METADATA,
     {"*under", "fork", "ttl", "expires_at", "persist"}},
    {"POST",
     ENTRY "/compare-and-set",
     WRITES_IN(BUCKETS),
     entry_compare_and_set,
     BODY_JSON,
     ROUTE_LINKS | ROUTE_CONDITIONS,
     {"*under", "fork", "ttl", "expires_at", "persist"}},
    {"POST",
     ENTRY "/upsert",
     WRITES_IN(BUCKETS),
     entry_upsert,
     BODY_JSON,
     ROUTE_LINKS | ROUTE_CONDITIONS,
     {"*under", "fork", "ttl", "expires_at", "persist"}},
    {"POST",
     ENTRY "/take",
     WRITES_IN(BUCKETS),
     entry_take,
     BODY_NONE,
     ROUTE_LINKS | ROUTE_CONDITIONS,
     {"*under", "fork"}},
    {"POST",
     ENTRY "/add",
     WRITES_IN(BUCKETS),
     entry_add,
     BODY_JSON,
     ROUTE_LINKS | ROUTE_CONDITIONS,
     {"*under", "fork"}},
    {"PUT",
     ENTRY "/expiry",
     WRITES_IN(BUCKETS),
     entry_expiry_put,
     BODY_JSON,
     ROUTE_LINKS | ROUTE_CONDITIONS,
     {"*under", "fork"}},
    {"DELETE",
     ENTRY "/expiry",
     WRITES_IN(BUCKETS),
     entry_expiry_delete,
     BODY_NONE,
     ROUTE_LINKS | ROUTE_CONDITIONS,
     {"*under", "fork"}},

    {"POST",
     ENTRY "/copy",
     READS_IN(BUCKETS),
     entry_copy,
     BODY_JSON,
     ROUTE_LINKS | ROUTE_CONDITIONS,
     {"*under"}},
    {"POST",
     ENTRY "/move",
     WRITES_IN(BUCKETS),
     entry_move,
     BODY_JSON,
     ROUTE_LINKS | ROUTE_CONDITIONS,
     {"*under"}},

    {"GET",
     ENTRIES,
     READS_IN(BUCKETS),
     entries_scan,
     BODY_NONE,
     0,
     {"*under", "fork", "prefix", "start", "end", "contains", "limit", "cursor", "values", "source", "below",
      "metadata"}},
    {"DELETE",
     ENTRIES,
     WRITES_IN(BUCKETS),
     entries_clear,
     BODY_NONE,
     0,
     {"*under", "prefix", "start", "end", "contains"}},
    {"POST", BUCKET "/batch-get", READS_ITEMS(BUCKETS), entries_batch_get, BODY_JSON, ROUTE_READS, {"fork"}},

    {"POST", LEASE, WRITES_IN(BUCKETS), lease_acquire, BODY_JSON, 0, {"*under"}},
    {"PUT", LEASE, WRITES_IN(BUCKETS), lease_renew, BODY_JSON, 0, {"*under"}},
    {"DELETE", LEASE, WRITES_IN(BUCKETS), lease_release, BODY_NONE, 0, {"*under", "holder", "token"}},
    {"GET", LEASE, READS_IN(BUCKETS), lease_get, BODY_NONE, 0, {"*under"}},

    {"PUT", COUNTER, ADMINISTERS(COUNTERS), counter_put, BODY_JSON, 0, {0}},
    {"GET", COUNTER, READS(COUNTERS), counter_get, BODY_NONE, 0, {0}},
    {"DELETE", COUNTER, DROPS(COUNTERS), counter_delete, BODY_NONE, 0, {"*under"}},
    {"POST", COUNTER_KEY "/add", WRITES_IN(COUNTERS), counter_key_add, BODY_JSON, 0, {"*under"}},
    {"POST", COUNTER_KEY "/max", WRITES_IN(COUNTERS), counter_key_max, BODY_JSON, 0, {"*under"}},
    {"GET", COUNTER_KEY, READS_IN(COUNTERS), counter_key_get, BODY_NONE, 0, {"*under"}},
    {"DELETE", COUNTER_KEY, WRITES_IN(COUNTERS), counter_key_delete, BODY_NONE, 0, {"*under"}},

    {"PUT", RATE_LIMIT, ADMINISTERS(RATE_LIMITS), rate_limit_put, BODY_JSON, 0, {0}},
    {"GET", RATE_LIMIT, READS(RATE_LIMITS), rate_limit_get, BODY_NONE, 0, {0}},
    {"DELETE", RATE_LIMIT, DROPS(RATE_LIMITS), rate_limit_delete, BODY_NONE, 0, {"*under"}},
    {"POST",
     RATE_LIMIT_KEY "/allow",
     WRITES_IN(RATE_LIMITS),
     rate_limit_key_allow,
     BODY_JSON,
     0,
     {"*under", "enforce"}},
    {"GET", RATE_LIMIT_KEY, READS_IN(RATE_LIMITS), rate_limit_key_get, BODY_NONE, 0, {"*under"}},
    {"DELETE", RATE_LIMIT_KEY, WRITES_IN(RATE_LIMITS), rate_limit_key_delete, BODY_NONE, 0, {"*under"}},

    {"DELETE", RATE_GATE, DROPS(RATE_GATES), rate_gate_delete, BODY_NONE, 0, {"*under"}},
    {"POST",
     RATE_GATE_KEY "/check",
     WRITES_IN(RATE_GATES),
     rate_gate_key_check,
     BODY_JSON,
     0,
     {"*under", "enforce"}},
    {"GET",
     RATE_GATE_KEY,
     READS_IN(RATE_GATES),
     rate_gate_key_get,
     BODY_NONE,
     0,
     {"*under", "max", "window"}},
    {"DELETE", RATE_GATE_KEY, WRITES_IN(RATE_GATES), rate_gate_key_delete, BODY_NONE, 0, {"*under"}},

    {"PUT", QUOTA, ADMINISTERS(QUOTAS), quota_put, BODY_JSON, 0, {0}},
    {"GET", QUOTA, READS(QUOTAS), quota_get, BODY_NONE, 0, {0}},
    {"DELETE", QUOTA, DROPS(QUOTAS), quota_delete, BODY_NONE, 0, {"*under"}},
    {"POST", QUOTA_KEY "/allow", WRITES_IN(QUOTAS), quota_key_allow, BODY_JSON, 0, {"*under", "enforce"}},
    {"POST", QUOTA_KEY "/refund", WRITES_IN(QUOTAS), quota_key_refund, BODY_JSON, 0, {"*under"}},
    {"GET", QUOTA_KEY, READS_IN(QUOTAS), quota_key_get, BODY_NONE, 0, {"*under"}},
    {"DELETE", QUOTA_KEY, WRITES_IN(QUOTAS), quota_key_delete, BODY_NONE, 0, {"*under"}},

    {"POST", "/v1/transactions", ITEMS, transaction_run, BODY_JSON, ROUTE_LINKS, {0}},
    {"GET",
     "/v1/sessions/{stream}/{session}/writes",
     READS(SESSIONS),
     session_writes,
     BODY_NONE,
     0,
     {"limit", "cursor"}},
    {"POST", "/v1/views", ITEMS, view_read, BODY_JSON, ROUTE_READS, {0}},

    {"PUT", ONCE, ADMINISTERS(ONCE), once_put, BODY_JSON, 0, {0}},
    {"GET", ONCE, READS(ONCE), once_read, BODY_NONE, 0, {0}},
    {"DELETE", ONCE, DROPS(ONCE), once_drop, BODY_NONE, 0, {"*under"}},
    {"POST", ONCE_KEY, WRITES_IN(ONCE), once_begin, BODY_NONE, 0, {"*under"}},
    {"GET", ONCE_KEY, READS_IN(ONCE), once_get, BODY_NONE, 0, {"*under"}},
    {"DELETE", ONCE_KEY, WRITES_IN(ONCE), once_forget, BODY_NONE, 0, {"*under"}},
    {"PUT", ONCE_KEY "/answer", WRITES_IN(ONCE), once_answer, BODY_VALUE, 0, {"*under", "token"}},
    {"PUT", ONCE_KEY "/run", WRITES_IN(ONCE), once_renew, BODY_JSON, 0, {"*under", "token"}},
    {"DELETE", ONCE_KEY "/run", WRITES_IN(ONCE), once_fail, BODY_NONE, 0, {"*under", "token"}},

    {"GET", "/v1/buckets", LISTED, bucket_list, BODY_NONE, 0, {"prefix", "limit", "cursor"}},
    {"GET", BUCKET, READS(BUCKETS), bucket_get, BODY_NONE, 0, {0}},
    {"PUT", BUCKET, ADMINISTERS(BUCKETS), bucket_put, BODY_JSON, 0, {"force"}},
    {"DELETE", BUCKET, ADMINISTERS(BUCKETS), bucket_delete, BODY_NONE, 0, {0}},

    {"GET", "/v1/forks", LISTED, fork_list, BODY_NONE, 0, {"limit", "cursor"}},
    {"GET", FORK, READS(FORKS), fork_get, BODY_NONE, 0, {0}},
    {"PUT", FORK, WRITES(FORKS), fork_put, BODY_JSON, 0, {0}},
    {"DELETE", FORK, WRITES(FORKS), fork_delete, BODY_NONE, 0, {0}},
    {"POST", FORK "/promote", WRITES(FORKS), fork_promote, BODY_NONE, ROUTE_LINKS, {"if_unchanged"}},

    {"POST", "/v1/tokens", TOKENS, token_create, BODY_JSON, 0, {0}},
    {"GET", "/v1/tokens", TOKENS, token_list, BODY_NONE, 0, {"limit", "cursor"}},
    {"GET", "/v1/tokens/{name}", TOKENS, token_get, BODY_NONE, 0, {0}},
    {"DELETE", "/v1/tokens/{name}", TOKENS, token_revoke, BODY_NONE, 0, {0}},

    {"GET", "/v1/capabilities", OPEN, capabilities_get, BODY_NONE, 0, {0}},
    {"GET", "/livez", OPEN, health_livez, BODY_NONE, ROUTE_HEALTH, {0}},
    {"GET", "/readyz", OPEN, health_readyz, BODY_NONE, ROUTE_HEALTH, {0}},
    {"GET", "/metrics", OPEN, metrics_get, BODY_NONE, 0, {0}},
    {"GET", "/openapi.json", OPEN, document_json, BODY_NONE, 0, {0}},
    {"GET", "/openapi.yaml", OPEN, document_yaml, BODY_NONE, 0, {0}},
    {"GET", "/docs", OPEN, page_docs, BODY_NONE, ROUTE_CONDITIONS, {0}},
    {"GET", "/docs/{file}", OPEN, page_docs_file, BODY_NONE, ROUTE_CONDITIONS, {0}},
    {"GET", "/ui", OPEN, page_ui, BODY_NONE, ROUTE_CONDITIONS, {0}},
    {"GET", "/ui/{file}", OPEN, page_ui_file, BODY_NONE, ROUTE_CONDITIONS, {0}},
    {0},
};
