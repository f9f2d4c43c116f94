// The settings of sessions, in the two forms that they are asked for.
#include "store/session.h"

#include <stdio.h>

static const char shared[] = "-c search_path=pg_catalog -c statement_timeout=0 "
                             "-c default_transaction_isolation=read\\ committed -c jit=off "
                             "-c client_min_messages=error ";

// Set-based functions with array arguments would be planned anew on every call, and a plan made while a table
// was empty would scan it for ever after; or gather and sort all rows of a range where an index gives the
// first of them in order.
static const char planner[] = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off "
                              "-c enable_bitmapscan=off -c enable_hashjoin=off "
                              "-c enable_mergejoin=off";

static bool is_planned(enum store_role role)
{
    return role != ROLE_ADMIN;
}

// An open transaction holds the locks of names. A session that has one waits for others, and is waited for,
// no longer than any call; a little less, so that the server says so before the connection counts as broken.
// In milliseconds, 0 for no limit.
static long long lock_limit(enum store_role role, int64_t timeout)
{
    return role == ROLE_TRANSACTION ? timeout / 1000 * 9 / 10 + 1 : 0;
}

static long long idle_limit(enum store_role role, int64_t timeout)
{
    return role == ROLE_TRANSACTION ? timeout / 1000 + 1 : 0;
}

bool session_only_reads(enum store_role role)
{
    return role == ROLE_READ || role == ROLE_LIST;
}

void session_as_options(enum store_role role, int64_t timeout, char options[SESSION_TEXT])
{
    snprintf(options, SESSION_TEXT, "%s%s -c lock_timeout=%lld -c idle_in_transaction_session_timeout=%lld",
             shared, is_planned(role) ? planner : "", lock_limit(role, timeout), idle_limit(role, timeout));
}

void session_as_statement(enum store_role role, int64_t timeout, bool changes, char sql[SESSION_TEXT])
{
    snprintf(sql, SESSION_TEXT, "select holdfast.begin_pooled(%s, %s, '%lld', '%lld')",
             is_planned(role) ? "true" : "false", changes && !session_only_reads(role) ? "true" : "false",
             lock_limit(role, timeout), idle_limit(role, timeout));
}
