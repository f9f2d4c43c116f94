// An ordinary HTTP client (libcurl) with a kept connection, for one thread at a time.
#pragma once

#include "support/answer.h"

struct http_client;

// A client of the service at `url` (http://ADDRESS:PORT). Frees every reply it gave when it is freed.
struct http_client *http_client_new(const char *url);
void http_client_free(struct http_client *client);

// For an https URL: trusts the authority in the PEM file alone and shows this certificate, or none when NULL.
// The texts must stay. Connections that are open are left as they are.
void http_client_use_tls(struct http_client *client, const char *authority, const char *certificate,
                         const char *key);

// A proxy answers, with headers and perhaps replies of its own: answer_check does not judge them.
void http_client_through_proxy(struct http_client *client);

// Closes what connection there is: the next request opens another.
void http_client_reconnect(struct http_client *client);

// No body at all, the bytes of a literal (NULs too), of a text, of memory.
#define NO_BODY       ((struct bytes){NULL, 0})
#define BODY(literal) bytes_make(literal, sizeof(literal) - 1)

// Sends a request and gives the reply, which passed answer_check and stays the client's. `target` is path and
// query as they go on the wire. A body with data is sent with its length, an empty one too; NO_BODY sends
// neither. Header lines ("Name: value"; "Name;" for an empty one) follow. The test fails when no whole reply
// comes within 30 s.
#define http(client, method, target, body, ...)                                                              \
    http_send(client, method, target, body, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})
struct answer *http_send(struct http_client *client, const char *method, const char *target,
                         struct bytes body, const char *const *headers);

// The same where no reply may come: NULL when the connection broke or none came within `limit_ms`.
struct answer *http_try(struct http_client *client, const char *method, const char *target, struct bytes body,
                        const char *const *headers, int limit_ms);

// Whether the last http_try failed because nobody listens there any more.
bool http_refused(const struct http_client *client);

// Text in memory of the client (as printf), for targets and headers.
const char *http_text(struct http_client *client, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// `bytes` percent-encoded, all but unreserved characters, in memory of the client.
const char *http_encode(struct http_client *client, struct bytes bytes);

// How many connections the client has opened so far.
long http_connections(const struct http_client *client);
