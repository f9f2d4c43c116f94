// Whole requests up to the database, which is away before or after it was asked: each gets one reply, no
// fault of the service's, that says nothing beside itself; and what is asked of the database is what
// PostgreSQL can take.
#include "fake_request.h"

#include "base/json_member.h"
#include "base/json_text.h"
#include "base/text.h"
#include "handlers/access.h"
#include "handlers/callers.h"
#include "handlers/fingerprint.h"
#include "handlers/session_links.h"

#include <math.h>

// The request as libmicrohttpd leaves it: cut up in the one piece of memory in which it came.
static struct section {
    char *text;
    size_t size; // of the headers with the line of the request and the empty one
    char *method, *url, *version, *headers;
    char *query; // NULL without one
} section;

static struct fake fake;
static int submitted;

// --- the library's side
// ---------------------------------------------------------------------------------------------------------------

static char *end_line(char *line)
{
    char *end = strchr(line, '\n');
    if (!end)
        return NULL;
    end[end > line && end[-1] == '\r' ? -1 : 0] = 0;
    *end = 0;
    return end + 1;
}

static bool cut_request_line(void)
{
    section.method = section.text;
    section.headers = end_line(section.text);
    char *first = section.headers ? strchr(section.text, ' ') : NULL;
    char *last = first ? strrchr(first, ' ') : NULL;
    if (!first || first == last || first == section.text || strncmp(last + 1, "HTTP/1.", 7) != 0)
        return false;
    *first = *last = 0;
    section.url = first + 1;
    section.version = last + 1;
    section.query = strchr(section.url, '?');
    fake.client.target =
        (struct http_target){.size = strlen(section.url), .spaced = strchr(section.url, ' ') != NULL};
    if (section.query) {
        fake.client.target.arguments = 1;
        for (const char *c = section.query; *c; c++)
            fake.client.target.arguments += *c == '&';
        *section.query++ = 0;
    }
    return *section.url == '/' || strncmp(section.url, "http", 4) == 0;
}

// The size of the header section, with the first empty line behind it; 0 when it has none.
static size_t section_size(const char *text)
{
    for (const char *at = text; (at = strchr(at, '\n')); at++) {
        const char *next = at + 1 + (at[1] == '\r');
        if (*next == '\n')
            return (size_t)(next + 1 - text);
    }
    return 0;
}

int __wrap_MHD_get_connection_values_n(struct MHD_Connection *connection, enum MHD_ValueKind kind,
                                       MHD_KeyValueIteratorN iterator, void *user);
const union MHD_ConnectionInfo *__wrap_MHD_get_connection_info(struct MHD_Connection *connection,
                                                               enum MHD_ConnectionInfoType type, ...);
void __wrap_store_submit(struct store *store, struct operation *operation);
void __wrap_reply_without_body(struct request *request, int status, size_t length);
enum caller_verdict __wrap_callers_know(struct callers *callers, struct bytes authorization,
                                        struct token **token);

static int each_header(MHD_KeyValueIteratorN iterator, void *user)
{
    int count = 0;
    char *copy = section.headers;
    while (copy && *copy && *copy != '\n' && *copy != '\r') {
        char *next = end_line(copy), *colon = strchr(copy, ':');
        if (!next || !colon)
            break; // which the library does not let through
        char *value = colon + 1 + strspn(colon + 1, " \t");
        *colon = 0;
        count++;
        iterator(user, MHD_HEADER_KIND, copy, strlen(copy), value, strlen(value));
        copy = next;
    }
    return count;
}

static int each_argument(MHD_KeyValueIteratorN iterator, void *user)
{
    int count = 0;
    const char *at = section.query;
    while (at) {
        size_t size = strcspn(at, "&");
        const char *equals = memchr(at, '=', size);
        size_t name = equals ? (size_t)(equals - at) : size;
        iterator(user, MHD_GET_ARGUMENT_KIND, at, name, equals ? equals + 1 : NULL,
                 equals ? size - name - 1 : 0);
        at = at[size] ? at + size + 1 : NULL;
        count++;
    }
    return count;
}

int __wrap_MHD_get_connection_values_n(struct MHD_Connection *connection, enum MHD_ValueKind kind,
                                       MHD_KeyValueIteratorN iterator, void *user)
{
    (void)connection;
    return kind == MHD_HEADER_KIND ? each_header(iterator, user) : each_argument(iterator, user);
}

const union MHD_ConnectionInfo *__wrap_MHD_get_connection_info(struct MHD_Connection *connection,
                                                               enum MHD_ConnectionInfoType type, ...)
{
    static union MHD_ConnectionInfo info;
    (void)connection;
    must(type == MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    info.header_size = section.size;
    return &info;
}

// --- the database's side
// --------------------------------------------------------------------------------------------------------------

static void check_text(struct bytes text)
{
    must(text_is_utf8(text) && (!text.size || !memchr(text.data, 0, text.size)));
}

static void check_value(enum column_type type, const struct value *value)
{
    if (!value->given)
        return;
    switch (type) {
    case COLUMN_BOOL:
        must(value->number == 0 || value->number == 1);
        return;
    case COLUMN_INT2:
        must(value->number >= INT16_MIN && value->number <= INT16_MAX);
        return;
    case COLUMN_INT4:
        must(value->number >= INT32_MIN && value->number <= INT32_MAX);
        return;
    case COLUMN_FLOAT8:
        must(isfinite(value->real));
        return;
    case COLUMN_TEXT:
        check_text(value->bytes);
        return;
    case COLUMN_BYTEA:
        bytes_hash(value->bytes, 0); // reads it all, for the sanitizers to see
        return;
    case COLUMN_INT8:
    case COLUMN_TIME:
        return;
    }
}

static void check_operation(const struct operation *operation)
{
    const struct statement *statement = operation->statement;
    size_t rows = 1;
    if (statement->form == STATEMENT_GROUPED) {
        rows = operation->item_count;
        must(rows >= 1 && rows <= OPERATION_ITEMS);
        for (size_t i = 0; i < rows; i++)
            check_text(operation->items[i].bucket);
    } else if (statement->form == STATEMENT_SHARED) {
        check_text(operation->bucket);
    }
    for (size_t i = 0; i < rows * statement->columns; i++)
        check_value(statement->column[i % statement->columns], &operation->values[i]);
}

void __wrap_store_submit(struct store *store, struct operation *operation)
{
    struct outcome away = {.kind = section.size % 2 ? OUTCOME_UNKNOWN : OUTCOME_UNAVAILABLE};
    (void)store;
    must(++submitted < 10 && fake.replies == 0);
    check_operation(operation);
    operation->done(operation, &away);
}

// --- the caller
// --------------------------------------------------------------------------------------------------------------

static struct token *token_with(const char *prefix, const char *grants)
{
    static const uint8_t zeros[TOKEN_KEY];
    struct token *token =
        token_new(bytes_of("0123456789abcdef"), bytes_of("name"), bytes_of(prefix), bytes_of(grants),
                  bytes_make(zeros, TOKEN_KEY), bytes_make(zeros, TOKEN_HASH));
    must(token);
    return token;
}

// Who bears nothing is let in, `Bearer admin` may do all, `Bearer tenant` some things below its own prefix.
enum caller_verdict __wrap_callers_know(struct callers *callers, struct bytes authorization,
                                        struct token **token)
{
    static struct token *admin, *tenant;
    (void)callers;
    if (!admin) {
        admin = token_with("", "admin:*\n");
        tenant = token_with("p-", "write:*\nadmin:buckets:b\n");
    }
    *token = bytes_is(authorization, "Bearer admin") ? admin : tenant;
    if (!authorization.data)
        return CALLER_NONE;
    return *token == admin || bytes_is(authorization, "Bearer tenant") ? CALLER_GOOD : CALLER_BAD;
}

// In place of the transaction that a key or a session has.
static void handle_keyed(struct request *request)
{
    if (request->linked)
        fake.context.links = session_links_new(request);
    request->route->handle(request);
}

// --- the reply
// ------------------------------------------------------------------------------------------------------------------------

void __wrap_reply_without_body(struct request *request, int status, size_t length)
{
    (void)length;
    request->reply = (struct reply){.status = status};
    fake_replied(request);
}

static void check_problem(const struct reply *reply)
{
    struct bytes member;
    int64_t status;
    must(json_check(reply->body, REQUEST_JSON_DEPTH) == JSON_VALID &&
         json_member(reply->body, "status", &member));
    must(text_int64(member, &status) && status == reply->status && json_member(reply->body, "kind", &member));
    must(strcmp(fake_header(&fake, "Content-Type"), "application/problem+json") == 0);
}

static void check_reply(void)
{
    const struct request *request = &fake.request;
    must(fake.replies == 1 && request->reply.status >= 200 && request->reply.status < 600);
    must(request->reply.status != 500 && request->id && !text_has_control(bytes_of(request->id)));
    for (int i = 0; i < request->reply_header_count; i++) {
        must(text_is_token(bytes_of(request->reply_headers[i].name)));
        for (const char *c = request->reply_headers[i].value; *c; c++)
            must(((uint8_t)*c >= 0x20 || *c == '\t') && *c != 0x7f);
    }
    if (request->reply.status >= 400)
        check_problem(&request->reply);
}

static void check_fingerprint(const struct request *request)
{
    uint8_t once[FINGERPRINT_BYTES], again[FINGERPRINT_BYTES];
    fingerprint(request, once);
    fingerprint(request, again);
    must(memcmp(once, again, sizeof once) == 0);
}

// --- the request
// ------------------------------------------------------------------------------------------------------------------------

static void check_opened(const struct request *request)
{
    if (request->refusal_status)
        return;
    must(request->route && request->argument_count <= REQUEST_ARGUMENTS);
    must(!request->keyed || request->headers[HEADER_IDEMPOTENCY_KEY].size <= REQUEST_KEY_BYTES);
    for (int i = 0; i < HEADER_COUNT; i++) {
        struct bytes value = request->headers[i];
        bool joined = value.size > 1 && value.data[value.size - 2] == ','; // to one that is empty
        must(!value.data || (value.data[value.size] == 0 && (joined || text_trim(value).size == value.size)));
    }
    bool kept = request->route->flags & ROUTE_METADATA;
    must(!kept || request->metadata_count <= REQUEST_METADATA_COUNT);
}

static void handle(struct request *request, struct bytes body)
{
    request_open(request, section.method, section.url, section.version);
    check_opened(request);
    size_t half = body.size / 2;
    bool taken = request_take_body(request, (const char *)body.data, half) &&
                 request_take_body(request, (const char *)body.data + half, body.size - half);
    if (!taken) {
        must(body.size > request->body_limit);
        return;
    }
    if (request->refusal_status) {
        reply_problem(request, &request->refusal);
    } else {
        must(request->route->body == BODY_NONE || bytes_equal(request->body, body));
        check_fingerprint(request);
        access_admit(request);
    }
    check_reply();
}

static bool is_asked(const char *method)
{
    return strcmp(method, "HEAD") != 0; // whose reply the connection itself is asked to leave without a body
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct router *router;
    struct request *request = fake_begin(&fake);
    if (!router)
        router = router_new(routes);
    fake.server.options.router = router;
    fake.server.options.handle_keyed = handle_keyed;
    submitted = 0;
    section.text = malloc(size + 1);
    must(section.text);
    memcpy(section.text, data, size);
    section.text[size] = 0;
    section.size = section_size(section.text);
    if (section.size && cut_request_line() && is_asked(section.method))
        handle(request, bytes_make(data + section.size, size - section.size));
    fake_end(&fake);
    free(section.text);
    return 0;
}
