// Requests to the service, over one kept connection: libcurl with this project's rules for addresses, tokens
// and failures.
#pragma once

#include "base/arena.h"
#include "base/buffer.h"

#include <curl/curl.h>

struct arguments;

// An HTTP reply. Zero-initialised it is valid and empty; it may be used again and again.
struct reply {
    int status;
    struct buffer head; // the header lines
    struct buffer body;
};

enum { CONNECTION_URLS = 8 };

struct connection {
    CURL *curl;
    struct arena arena; // for texts of the command; lives as long as the connection
    const char *urls[CONNECTION_URLS];
    int url_count;
    int url;                     // the one in use
    const char *bearer;          // the Authorization line, NULL when there is no token
    struct curl_slist *headers;  // of the next request
    char error[CURL_ERROR_SIZE]; // why the last request had no reply
    bool unsent;                 // it never reached anybody
    int64_t timeout;             // of a request that waits for nothing, in microseconds
};

// Opens nothing yet. False, with a line on standard error, when the address or the token is none.
bool connection_begin(struct connection *connection, const struct arguments *arguments);
void connection_end(struct connection *connection);

// Ends it, also one that did not begin, and gives the exit code of who called wrongly.
int connection_misused(struct connection *connection);

// Sets up `curl` with the deployment's address rules, as connection_send does: for those who drive many
// requests at once. `headers` is what connection_take_headers gave.
void connection_prepare(const struct connection *connection, CURL *curl, const char *method,
                        const char *target, struct bytes body, bool has_body, struct curl_slist *headers);

// A header of the next request. False, with a line on standard error, when the value has control characters.
bool connection_header(struct connection *connection, const char *name, const char *value);

// The headers so far with those that every request has; the caller frees them.
struct curl_slist *connection_take_headers(struct connection *connection);

// Sends one request and reads its reply; `wait` microseconds are added to the time it may take. `target` is
// path and query. NO_BODY sends none. False when no reply came, with the reason in `error`; the next address
// is used from then on when there are several.
bool connection_send(struct connection *connection, const char *method, const char *target, struct bytes body,
                     int64_t wait, struct reply *reply);

// The same for what may be sent twice: each further address is tried once when nobody answers.
bool connection_ask(struct connection *connection, const char *method, const char *target, struct bytes body,
                    int64_t wait, struct reply *reply);

// Uses the next address from now on.
void connection_use_next(struct connection *connection);

#define NO_BODY ((struct bytes){NULL, 0})

void reply_clear(struct reply *reply);
void reply_free(struct reply *reply);

// The header's value, a view; false when there is none. `name` is in lower case.
bool reply_field(const struct reply *reply, const char *name, struct bytes *value);

// The version in ETag without its quotes; empty when there is none.
struct bytes reply_version(const struct reply *reply);

// Libcurl's callbacks for a struct reply.
size_t reply_add_head(char *data, size_t size, size_t count, void *reply);
size_t reply_add_body(char *data, size_t size, size_t count, void *reply);
