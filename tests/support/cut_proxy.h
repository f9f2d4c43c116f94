// A proxy of ours between the service and PostgreSQL that cuts a connection at a moment the test chooses.
#pragma once

#include "support/postgres.h"

struct cut_proxy;

enum cut {
    CUT_NEVER,
    CUT_BEFORE, // what has the mark is not passed on: the connection is closed instead
    CUT_AFTER,  // what has the mark is passed on, and no answer comes back until cut_proxy_cut closes it
};

// A proxy before the server, on a unix socket of its own, in a thread of its own.
struct cut_proxy *cut_proxy_start(const struct postgres *postgres);

// The same on a port of 127.0.0.1, where packets can be lost.
struct cut_proxy *cut_proxy_start_tcp(const struct postgres *postgres);
uint16_t cut_proxy_port(const struct cut_proxy *proxy);
void cut_proxy_end(struct cut_proxy *proxy);

// The database's address by way of the proxy; valid as long as the proxy is.
const char *cut_proxy_url(struct cut_proxy *proxy, const struct database *database);

// Looks for `mark` (text without a NUL; it must stay valid) in what comes from the service; does `cut` when
// it comes, once.
void cut_proxy_arm(struct cut_proxy *proxy, enum cut cut, const char *mark);

// Closes the connection whose answers are held back. False when there is none.
bool cut_proxy_cut(struct cut_proxy *proxy);

// Whether the mark was met since the last arming.
bool cut_proxy_met(struct cut_proxy *proxy);

// Closes every connection; with `refuse`, and every new one until it is called with false.
void cut_proxy_sever(struct cut_proxy *proxy, bool refuse);
