// A second PostgreSQL that follows a test's first, and takes over.
#pragma once

struct postgres;

// A standby that follows `primary`, as "standby" in its synchronous_standby_names; the primary is stopped for
// a moment. postgres_free frees it.
struct postgres *postgres_standby_new(struct postgres *primary);

// Makes the standby a primary, and returns when it takes writes.
void postgres_promote(struct postgres *standby);
