// Every part goes in behind its length, so that no two requests give the same bytes.
#include "handlers/fingerprint.h"

#include "http/prefer.h"

#include <sodium.h>

static void add_count(crypto_generichash_state *state, uint64_t count)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(count >> (8 * i));
    crypto_generichash_update(state, bytes, sizeof bytes);
}

static void add(crypto_generichash_state *state, struct bytes part)
{
    add_count(state, part.size);
    if (part.size)
        crypto_generichash_update(state, part.data, part.size);
}

// An absent header and an empty one are not the same.
static void add_header(crypto_generichash_state *state, const struct request *request, enum header header)
{
    add_count(state, request_has(request, header));
    add(state, request->headers[header]);
}

// What shape of reply is preferred: `return=…`. Other preferences do not change what is asked for.
static void add_return(crypto_generichash_state *state, const struct request *request)
{
    struct bytes wanted = {0};
    add_count(state, prefer_find(request->headers[HEADER_PREFER], "return", &wanted));
    add(state, wanted);
}

// The decoded path, so that it is the same however a client escapes it.
static void add_path(crypto_generichash_state *state, const struct request *request)
{
    add(state, bytes_of(request->route->template));
    for (int i = 0; i < ROUTE_PARAMETERS; i++)
        add(state, request->parameters[i]);
}

static void add_query(crypto_generichash_state *state, const struct request *request)
{
    add_count(state, (uint64_t)request->argument_count);
    for (int i = 0; i < request->argument_count; i++) {
        add(state, request->arguments[i].name);
        add(state, request->arguments[i].value);
    }
}

static int compare_names(struct bytes a, struct bytes b)
{
    size_t shorter = a.size < b.size ? a.size : b.size;
    int order = memcmp(a.data, b.data, shorter);
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

// The metadata header whose name comes next after `last` (NULL: the first of all).
static const struct argument *next_metadata(const struct request *request, const struct argument *last)
{
    const struct argument *next = NULL;
    for (int i = 0; i < request->metadata_count; i++) {
        const struct argument *one = &request->metadata[i];
        if ((!last || compare_names(one->name, last->name) > 0) &&
            (!next || compare_names(one->name, next->name) < 0))
            next = one;
    }
    return next;
}

// In the order of names, since clients and proxies may send headers in any. Where it has no meaning it is not
// looked at, and was not checked either.
static void add_metadata(crypto_generichash_state *state, const struct request *request)
{
    bool taken = (request->route->flags & ROUTE_METADATA) != 0;
    add_count(state, taken ? (uint64_t)request->metadata_count : 0);
    for (const struct argument *one = NULL; taken && (one = next_metadata(request, one));) {
        add(state, one->name);
        add(state, one->value);
    }
}

void fingerprint(const struct request *request, uint8_t out[FINGERPRINT_BYTES])
{
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, FINGERPRINT_BYTES);
    add(&state, request->method);
    add_path(&state, request);
    add_query(&state, request);
    add_header(&state, request, HEADER_CONTENT_TYPE);
    add_header(&state, request, HEADER_IF_MATCH);
    add_header(&state, request, HEADER_IF_NONE_MATCH);
    add_header(&state, request, HEADER_SESSION);
    add_return(&state, request);
    add_metadata(&state, request);
    add(&state, request->body);
    crypto_generichash_final(&state, out, FINGERPRINT_BYTES);
}
