// From what libmicrohttpd parsed to a request that can be trusted: framing, names, path, query, conditions,
// body.
#include "http/request.h"

#include "base/json_text.h"
#include "base/text.h"
#include "http/internal.h"
#include "http/reply.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    REQUEST_ID_LONGEST = 128,
    METADATA_PREFIX = 14, // strlen("holdfast-meta-")
};

struct header_row {
    const char *name; // in lower case
    const char *written;
    bool list; // several are one list
};

static const struct header_row header_rows[HEADER_COUNT] = {
    [HEADER_CORS_HEADERS] = {"access-control-request-headers", "Access-Control-Request-Headers", true},
    [HEADER_CORS_METHOD] = {"access-control-request-method", "Access-Control-Request-Method", false},
    [HEADER_AUTHORIZATION] = {"authorization", "Authorization", false},
    [HEADER_CONTENT_ENCODING] = {"content-encoding", "Content-Encoding", true},
    [HEADER_CONTENT_LENGTH] = {"content-length", "Content-Length", false},
    [HEADER_CONTENT_TYPE] = {"content-type", "Content-Type", false},
    [HEADER_EXPECT] = {"expect", "Expect", true},
    [HEADER_HOST] = {"host", "Host", false},
    [HEADER_IDEMPOTENCY_KEY] = {"idempotency-key", "Idempotency-Key", false},
    [HEADER_IF_MATCH] = {"if-match", "If-Match", true},
    [HEADER_IF_NONE_MATCH] = {"if-none-match", "If-None-Match", true},
    [HEADER_ORIGIN] = {"origin", "Origin", false},
    [HEADER_PREFER] = {"prefer", "Prefer", true},
    [HEADER_SESSION] = {"holdfast-session", "Holdfast-Session", false},
    [HEADER_TRACEPARENT] = {"traceparent", "traceparent", false},
    [HEADER_TRANSFER_ENCODING] = {"transfer-encoding", "Transfer-Encoding", false},
    [HEADER_REQUEST_ID] = {"x-request-id", "X-Request-Id", false},
};

void request_refuse(struct request *request, const struct problem *problem)
{
    if (request->refusal_status)
        return; // the first reason is the one to tell
    request->refusal = *problem;
    request->refusal_status = problem_status(problem->kind);
}

static void refuse_invalid(struct request *request, struct bytes parameter, const char *detail)
{
    struct problem problem = {.kind = PROBLEM_INVALID, .detail = detail, .parameter = parameter};
    request_refuse(request, &problem);
}

static void refuse_over_limit(struct request *request, const char *parameter, size_t limit,
                              const char *detail)
{
    struct problem problem = {.kind = PROBLEM_TOO_LARGE,
                              .detail = detail,
                              .parameter = bytes_of(parameter),
                              .limit = (int64_t)limit};
    request_refuse(request, &problem);
}

// A message whose end cannot be told for sure: its connection must not be used again.
static void refuse_framing(struct request *request, const char *header, const char *detail)
{
    request->close_after = true;
    refuse_invalid(request, bytes_of(header), detail);
}

static void refuse_headers(struct request *request, int64_t limit, const char *detail)
{
    struct problem problem = {.kind = PROBLEM_HEADERS_TOO_LARGE, .detail = detail, .limit = limit};
    request->close_after = true;
    request_refuse(request, &problem);
}

// --- headers
// ----------------------------------------------------------------------------------------------------------

static bool value_is_clean(struct bytes value)
{
    for (size_t i = 0; i < value.size; i++)
        if ((value.data[i] < 0x20 && value.data[i] != '\t') || value.data[i] == 0x7f)
            return false;
    return true;
}

static bool starts_lower(struct bytes name, const char *prefix)
{
    size_t size = strlen(prefix);
    return name.size >= size && text_equals_lower(bytes_make(name.data, size), prefix);
}

static void join_list(struct request *request, struct bytes *list, struct bytes more)
{
    size_t size = list->size + 2 + more.size;
    uint8_t *joined = arena_alloc(&request->arena, size + 1);
    memcpy(joined, list->data, list->size);
    memcpy(joined + list->size, ", ", 2);
    memcpy(joined + list->size + 2, more.data, more.size);
    joined[size] = 0;
    *list = bytes_make(joined, size);
}

static void keep_header(struct request *request, enum header header, struct bytes value)
{
    const struct header_row *row = &header_rows[header];
    struct bytes *slot = &request->headers[header];
    if (!slot->data)
        *slot = arena_copy(&request->arena, value);
    else if (row->list)
        join_list(request, slot, value);
    else if (header == HEADER_TRACEPARENT)
        *slot = bytes_of(""); // whose trace it is cannot be told
    else if (header == HEADER_CONTENT_LENGTH || header == HEADER_TRANSFER_ENCODING || header == HEADER_HOST)
        refuse_framing(request, row->written, "the header may come only once");
    else
        refuse_invalid(request, bytes_of(row->written), "the header may come only once");
}

static void keep_metadata(struct request *request, struct bytes name, struct bytes value)
{
    struct bytes rest = bytes_make(name.data + METADATA_PREFIX, name.size - METADATA_PREFIX);
    uint8_t *lower = arena_alloc(&request->arena, rest.size + 1);
    for (size_t i = 0; i < rest.size; i++)
        lower[i] = rest.data[i] >= 'A' && rest.data[i] <= 'Z' ? (uint8_t)(rest.data[i] | 0x20) : rest.data[i];
    struct argument *more =
        arena_alloc(&request->arena, sizeof *more * (size_t)(request->metadata_count + 1));
    if (request->metadata_count)
        memcpy(more, request->metadata, sizeof *more * (size_t)request->metadata_count);
    more[request->metadata_count] =
        (struct argument){bytes_make(lower, rest.size), arena_copy(&request->arena, value)};
    request->metadata = more;
    request->metadata_count++;
}

// libmicrohttpd gives C strings, all of them in the one piece of memory it received the section in. A zero
// byte ends such a string early, and a folded line or a name that is empty is moved or dropped: then what
// follows does not begin where this ended, and the section would be read in another way than it was written.
struct header_walk {
    struct request *request;
    size_t count;
    uintptr_t end; // of the line before, without what ends the line
    bool torn;
};

// Whether only the end of a line, CR LF or a lone LF, lies between two strings of the section.
static bool next_line(uintptr_t end, uintptr_t start)
{
    return start - end == 1 || start - end == 2;
}

// Whether only a colon and white space lie between a name and its value.
static bool is_one_line(const char *name, size_t name_size, const char *value)
{
    if (!value || (uintptr_t)value <= (uintptr_t)name + name_size)
        return false;
    for (const char *gap = name + name_size + 1; gap < value; gap++)
        if (*gap != ' ' && *gap != '\t')
            return false;
    return true;
}

static void refuse_torn(struct request *request)
{
    refuse_framing(request, "header", "a zero byte, a folded line, or a header without a name");
}

static enum MHD_Result take_header(void *user, enum MHD_ValueKind kind, const char *name_text,
                                   size_t name_size, const char *value_text, size_t value_size)
{
    (void)kind;
    struct header_walk *walk = user;
    struct request *request = walk->request;
    struct bytes name = bytes_make(name_text, name_size);
    struct bytes value = text_trim(bytes_make(value_text ? value_text : "", value_size));
    walk->count++;
    walk->torn = walk->torn || !next_line(walk->end, (uintptr_t)name_text) ||
                 !is_one_line(name_text, name_size, value_text);
    walk->end = (uintptr_t)value_text + value_size;
    if (!text_is_token(name)) {
        refuse_framing(request, "header", "a header's name is not a token");
        return MHD_YES;
    }
    if (!value_is_clean(value)) {
        request->close_after = true;
        refuse_invalid(request, arena_copy(&request->arena, name), "the header's value has a control byte");
        return MHD_YES;
    }
    uint8_t first = name.data[0] | 0x20;
    if (first == 'h' && starts_lower(name, "holdfast-meta-")) {
        keep_metadata(request, name, value);
        return MHD_YES;
    }
    for (int i = 0; i < HEADER_COUNT; i++)
        if ((uint8_t)header_rows[i].name[0] == first && text_equals_lower(name, header_rows[i].name)) {
            keep_header(request, (enum header)i, value);
            return MHD_YES;
        }
    return MHD_YES;
}

static size_t read_headers(struct request *request, const char *method, const char *version)
{
    struct header_walk walk = {.request = request, .end = (uintptr_t)version + strlen(version)};
    MHD_get_connection_values_n(request->connection, MHD_HEADER_KIND, take_header, &walk);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    uintptr_t left = info ? (uintptr_t)method + info->header_size - walk.end : 0;
    if (walk.torn || left < 2 || left > 4) // the end of a line, and an empty one
        refuse_torn(request);
    return walk.count;
}

static void check_framing(struct request *request, struct bytes version)
{
    const struct bytes *headers = request->headers;
    if (!headers[HEADER_HOST].data && !bytes_is(version, "HTTP/1.0"))
        refuse_framing(request, "Host", "the header is missing");
    bool chunked = headers[HEADER_TRANSFER_ENCODING].data != NULL;
    if (chunked && headers[HEADER_CONTENT_LENGTH].data)
        refuse_framing(request, "Content-Length", "Content-Length beside Transfer-Encoding");
    if (chunked && bytes_is(version, "HTTP/1.0"))
        refuse_framing(request, "Transfer-Encoding", "HTTP/1.0 has no transfer codings");
    if (chunked && !text_equals_lower(headers[HEADER_TRANSFER_ENCODING], "chunked")) {
        struct problem problem = {.kind = PROBLEM_UNSUPPORTED,
                                  .detail = "the only transfer coding is chunked",
                                  .extra = "\"capability\":\"transfer_coding\""};
        request->close_after = true;
        request_refuse(request, &problem);
    }
}

static void check_encoding(struct request *request)
{
    struct bytes encoding = request->headers[HEADER_CONTENT_ENCODING];
    if (!encoding.data || !encoding.size || text_equals_lower(encoding, "identity"))
        return;
    struct problem problem = {.kind = PROBLEM_UNSUPPORTED_MEDIA,
                              .detail = "values are stored as they are: send no Content-Encoding"};
    request_refuse(request, &problem);
}

static void check_metadata(struct request *request)
{
    size_t size = 0;
    for (int i = 0; i < request->metadata_count; i++) {
        const struct argument *one = &request->metadata[i];
        size += one->name.size + one->value.size;
        if (!one->value.size || !one->name.size)
            refuse_invalid(request, bytes_of("Holdfast-Meta"), "a metadata header is empty");
        for (int j = 0; j < i; j++)
            if (bytes_equal(request->metadata[j].name, one->name))
                refuse_invalid(request, bytes_of("Holdfast-Meta"), "a metadata header comes twice");
    }
    if (size > REQUEST_METADATA_BYTES)
        refuse_over_limit(request, "Holdfast-Meta", REQUEST_METADATA_BYTES,
                          "metadata is limited to 2048 bytes of names and values");
    if (request->metadata_count > REQUEST_METADATA_COUNT)
        refuse_over_limit(request, "Holdfast-Meta", REQUEST_METADATA_COUNT, "at most 16 metadata headers");
}

static bool is_visible_ascii(struct bytes text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] <= 0x20 || text.data[i] >= 0x7f)
            return false;
    return true;
}

static void read_idempotency_key(struct request *request)
{
    struct bytes key = request->headers[HEADER_IDEMPOTENCY_KEY];
    if (!key.data || !route_writes(request->route))
        return;
    request->keyed = key.size && key.size <= REQUEST_KEY_BYTES && is_visible_ascii(key);
    if (!request->keyed)
        refuse_invalid(request, bytes_of("Idempotency-Key"), "1 to 255 visible ASCII characters");
}

bool session_name_valid(struct bytes name)
{
    return name.size && name.size <= REQUEST_SESSION_BYTES && is_visible_ascii(name) &&
           !memchr(name.data, '/', name.size);
}

static void read_session(struct request *request)
{
    struct bytes both = request->headers[HEADER_SESSION];
    if (!both.data || !(request->route->flags & ROUTE_LINKS))
        return;
    const uint8_t *slash = both.size ? memchr(both.data, '/', both.size) : NULL;
    size_t size = slash ? (size_t)(slash - both.data) : 0;
    request->linked = slash && session_name_valid(bytes_make(both.data, size)) &&
                      session_name_valid(bytes_make(slash + 1, both.size - size - 1));
    if (!request->linked)
        refuse_invalid(request, bytes_of("Holdfast-Session"),
                       "a stream and a session with a slash between, each 1 to 128 visible ASCII characters");
}

static void read_conditions(struct request *request)
{
    struct bytes if_match = request->headers[HEADER_IF_MATCH];
    struct bytes if_none_match = request->headers[HEADER_IF_NONE_MATCH];
    if (if_match.data && !condition_parse(&request->arena, if_match, true, &request->conditions.if_match))
        refuse_invalid(request, bytes_of("If-Match"), "neither * nor a list of entity tags");
    if (if_none_match.data &&
        !condition_parse(&request->arena, if_none_match, false, &request->conditions.if_none_match))
        refuse_invalid(request, bytes_of("If-None-Match"), "neither * nor a list of entity tags");
    if (request->route && !(request->route->flags & ROUTE_CONDITIONS) &&
        (if_match.data || if_none_match.data))
        refuse_invalid(request, bytes_of(if_match.data ? "If-Match" : "If-None-Match"),
                       "this call cannot honour a precondition");
}

// --- identity
// ---------------------------------------------------------------------------------------------------------

static bool id_is_sane(struct bytes id)
{
    if (!id.size || id.size > REQUEST_ID_LONGEST)
        return false;
    for (size_t i = 0; i < id.size; i++)
        if (id.data[i] <= 0x20 || id.data[i] >= 0x7f || id.data[i] == '"' || id.data[i] == '\\')
            return false;
    return true;
}

static void choose_id(struct request *request)
{
    struct bytes offered = request->headers[HEADER_REQUEST_ID];
    if (offered.data && id_is_sane(offered)) {
        request->id = (const char *)arena_copy(&request->arena, offered).data;
        return;
    }
    static const char digits[] = "0123456789abcdef";
    char *id = arena_alloc(&request->arena, 21);
    memcpy(id, request->server->id_prefix, 8);
    uint64_t n = ++request->server->id_next;
    for (int i = 19; i >= 8; i--, n >>= 4)
        id[i] = digits[n & 15];
    id[20] = 0;
    request->id = id;
}

// Numbers of one sequence that look like chance: two workers hardly ever give the same one.
static uint64_t next_span(struct http_server *server)
{
    uint64_t n = server->span_next += 0x9e3779b97f4a7c15u;
    n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9u;
    n = (n ^ n >> 27) * 0x94d049bb133111ebu;
    n ^= n >> 31;
    return n ? n : 1;
}

// A traceparent that is not as it should be counts as none.
static void join_trace(struct request *request)
{
    struct bytes traceparent = request->headers[HEADER_TRACEPARENT];
    if (!traceparent.data)
        return;
    struct trace *trace = arena_alloc(&request->arena, sizeof *trace);
    if (trace_begin(trace, traceparent, next_span(request->server)))
        request->trace = trace;
}

// --- path and query
// ---------------------------------------------------------------------------------------------------

// What was seen of the target before the library took it apart, and whether the request line holds nothing
// but its three parts.
static void check_target(struct request *request, const char *method, const char *url, const char *version)
{
    const struct http_target *target = &request->client->target;
    if ((uintptr_t)url != (uintptr_t)method + request->method.size + 1 ||
        (uintptr_t)version != (uintptr_t)url + target->size + 1)
        refuse_framing(request, "path", "a zero byte or a second space in the request line");
    if (target->spaced)
        refuse_framing(request, "path", "a space in it is written %20");
    if (target->arguments > REQUEST_ARGUMENTS)
        refuse_headers(request, REQUEST_ARGUMENTS, "a request has at most 128 query parameters");
    else if (target->cut)
        refuse_headers(request, HTTP_SECTION, "a header section of 12 KiB fits; this one is too large");
}

// The path of an absolute URL, which a server must accept too (RFC 9112 section 3.2.2).
static struct bytes strip_authority(struct bytes url)
{
    size_t scheme = starts_lower(url, "http://") ? 7 : starts_lower(url, "https://") ? 8 : 0;
    if (!scheme)
        return url;
    for (size_t i = scheme; i < url.size; i++)
        if (url.data[i] == '/')
            return bytes_make(url.data + i, url.size - i);
    return bytes_of("/");
}

static void find_route(struct request *request, struct bytes path)
{
    for (size_t i = 0; i < path.size; i++)
        if (path.data[i] < 0x20 || path.data[i] == 0x7f || path.data[i] == '#') {
            refuse_invalid(request, bytes_of("path"), "the path has a control byte or a fragment");
            return;
        }
    struct bytes raw[ROUTE_PARAMETERS] = {{0}};
    char allow[128];
    switch (
        router_match(request->server->options.router, request->method, path, &request->route, raw, allow)) {
    case ROUTE_FOUND:
        break;
    case ROUTE_UNKNOWN: {
        struct problem problem = {.kind = PROBLEM_NOT_FOUND, .detail = "there is no such path"};
        request_refuse(request, &problem);
        return;
    }
    case ROUTE_OTHER_METHOD: {
        struct problem problem = {.kind = PROBLEM_METHOD_NOT_ALLOWED,
                                  .detail = "this path has other methods",
                                  .allow = arena_printf(&request->arena, "%s", allow)};
        request_refuse(request, &problem);
        return;
    }
    }
    for (int i = 0; i < ROUTE_PARAMETERS && raw[i].data; i++)
        if (!text_percent_decode(&request->arena, raw[i], &request->parameters[i]))
            refuse_invalid(request, bytes_of("path"),
                           "a percent sign is not followed by two hexadecimal digits");
}

static enum MHD_Result count_argument(void *user, enum MHD_ValueKind kind, const char *name, size_t name_size,
                                      const char *value, size_t value_size)
{
    (void)kind;
    (void)name;
    (void)name_size;
    (void)value;
    (void)value_size;
    ++*(size_t *)user;
    return MHD_YES;
}

static enum MHD_Result take_argument(void *user, enum MHD_ValueKind kind, const char *name, size_t name_size,
                                     const char *value, size_t value_size)
{
    (void)kind;
    struct request *request = user;
    struct arena *arena = &request->arena;
    struct argument argument;
    struct bytes raw_name = arena_copy(arena, bytes_make(name, name_size));
    struct bytes raw_value = arena_copy(arena, bytes_make(value ? value : "", value_size));
    if (!text_percent_decode(arena, raw_name, &argument.name) ||
        !text_percent_decode(arena, raw_value, &argument.value)) {
        refuse_invalid(request, bytes_of("query"),
                       "a percent sign is not followed by two hexadecimal digits");
        return MHD_YES;
    }
    if (!name_size && !value_size)
        return MHD_YES; // `?a=1&&b=2`
    request->arguments[request->argument_count++] = argument;
    return MHD_YES;
}

static const char *allowed_argument(const struct route *route, struct bytes name)
{
    for (int i = 0; i < ROUTE_QUERY && route->query[i]; i++)
        if (bytes_is(name, route->query[i] + (route->query[i][0] == '*')))
            return route->query[i];
    return NULL;
}

static void check_arguments(struct request *request)
{
    for (int i = 0; i < request->argument_count; i++) {
        struct bytes name = request->arguments[i].name;
        const char *allowed = allowed_argument(request->route, name);
        if (!allowed) {
            refuse_invalid(request, name, "this call has no such query parameter");
            return;
        }
        for (int j = 0; j < i && allowed[0] != '*'; j++)
            if (bytes_equal(request->arguments[j].name, name)) {
                refuse_invalid(request, name, "the query parameter may come only once");
                return;
            }
    }
}

static size_t read_query(struct request *request)
{
    size_t count = 0;
    MHD_get_connection_values_n(request->connection, MHD_GET_ARGUMENT_KIND, count_argument, &count);
    if (!count)
        return 0;
    request->arguments = arena_alloc(&request->arena, sizeof *request->arguments * count);
    MHD_get_connection_values_n(request->connection, MHD_GET_ARGUMENT_KIND, take_argument, request);
    return count;
}

// Request and reply headers share one pool: when they do not fit together the connection would close without
// a word, after the work was done.
static void check_room(struct request *request, size_t lines)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    if (!info || info->header_size + lines * HTTP_LINE_OVERHEAD + HTTP_REPLY_ROOM <= HTTP_POOL)
        return;
    refuse_headers(request, HTTP_SECTION, "a header section of 12 KiB fits; this one is too large");
}

// --- body
// -------------------------------------------------------------------------------------------------------------

static const char no_memory_for_body[] = "too many bytes of bodies are in memory already";

static void refuse_too_large(struct request *request)
{
    refuse_over_limit(request, "body", request->body_limit, "the body is larger than this call takes");
}

static void expect_body(struct request *request)
{
    enum body_policy policy = request->route ? request->route->body : BODY_NONE;
    request->body_limit = policy == BODY_JSON ? REQUEST_JSON_BYTES : request->server->options.value_limit;
    struct bytes length_text = request->headers[HEADER_CONTENT_LENGTH];
    int64_t length = 0;
    request->announced = length_text.data && text_int64(length_text, &length) && length >= 0;
    if (request->announced && (uint64_t)length > request->body_limit)
        refuse_too_large(request);
    request->body_capacity = request->announced ? (size_t)length : 0;
    request->phase = PHASE_BODY;
}

bool request_refuse_now(const struct request *request)
{
    if (!request->refusal_status)
        return false;
    if (request->close_after || request_has(request, HEADER_EXPECT))
        return true;
    return request->announced && request->body_capacity > 2 * request->body_limit;
}

static bool reserve_body(struct request *request, size_t size)
{
    size_t need = request->body.size + size;
    if (request->body_data && need <= request->body_capacity)
        return true;
    size_t capacity = request->body_capacity;
    if (request->body_data || capacity < need)
        capacity = need * 2 < 4096 ? 4096 : need * 2;
    uint8_t *data = arena_try_alloc(&request->arena, capacity);
    if (!data)
        return false;
    if (request->body.size)
        memcpy(data, request->body_data, request->body.size);
    request->body_data = data;
    request->body_capacity = capacity;
    return true;
}

bool request_take_body(struct request *request, const char *data, size_t size)
{
    if (!request->refusal_status && (!request->route || request->route->body == BODY_NONE)) {
        request->discarded += size;
        return request->discarded <= 2 * request->body_limit;
    }
    if (!request->refusal_status && request->body.size + size > request->body_limit)
        refuse_too_large(request);
    if (request->refusal_status) {
        request->discarded += size;
        return request->discarded + request->body.size <= 2 * request->body_limit;
    }
    if (!request_hold(request, size) || !reserve_body(request, size)) {
        struct problem problem = {
            .kind = PROBLEM_UNAVAILABLE, .detail = no_memory_for_body, .retry_after = 1};
        request_refuse(request, &problem);
        return true;
    }
    memcpy(request->body_data + request->body.size, data, size);
    request->body.size += size;
    request->body.data = request->body_data;
    return true;
}

// --- the whole
// --------------------------------------------------------------------------------------------------------

static void check_content_type(struct request *request)
{
    struct bytes type = request->headers[HEADER_CONTENT_TYPE];
    if (request->route && request->route->body == BODY_VALUE && type.size > REQUEST_CONTENT_TYPE_BYTES)
        refuse_over_limit(request, "Content-Type", REQUEST_CONTENT_TYPE_BYTES, "longer than 256 bytes");
    for (size_t i = 0; i < type.size; i++)
        if (type.data[i] >= 0x80)
            refuse_invalid(request, bytes_of("Content-Type"), "a byte that is not ASCII");
}

static bool is_json_type(struct bytes type)
{
    size_t end = 0;
    while (end < type.size && type.data[end] != ';')
        end++;
    return text_equals_lower(text_trim(bytes_make(type.data, end)), "application/json");
}

static void check_json_type(struct request *request)
{
    struct bytes type = request->headers[HEADER_CONTENT_TYPE];
    if (!request->route || request->route->body != BODY_JSON || !type.size || is_json_type(type))
        return;
    // curl's default for -d, which says nothing about what the user meant.
    if (text_equals_lower(type, "application/x-www-form-urlencoded"))
        return;
    struct problem problem = {.kind = PROBLEM_UNSUPPORTED_MEDIA,
                              .detail = "this call takes application/json"};
    request_refuse(request, &problem);
}

// Whatever is kept is copied: the library's memory goes when the client does, and the request's work goes on.
void request_open(struct request *request, const char *method, const char *url, const char *version)
{
    request->method = arena_copy(&request->arena, bytes_of(method));
    size_t headers = read_headers(request, method, version);
    choose_id(request);
    request->account.request_id = request->id;
    join_trace(request);
    check_target(request, method, url, version);
    check_framing(request, bytes_of(version));
    size_t arguments = read_query(request);
    check_room(request, headers + arguments);
    find_route(request, arena_copy(&request->arena, strip_authority(bytes_of(url))));
    if (request->route) {
        check_arguments(request);
        check_encoding(request);
        check_content_type(request);
        check_json_type(request);
        if (request->route->flags & ROUTE_METADATA)
            check_metadata(request);
        else if (request->metadata_count && route_writes(request->route))
            refuse_invalid(request, bytes_of("Holdfast-Meta"), "this call keeps no metadata");
        read_idempotency_key(request);
        read_session(request);
    }
    read_conditions(request);
    expect_body(request);
}

struct bytes request_argument(const struct request *request, const char *name, bool *given)
{
    for (int i = 0; i < request->argument_count; i++)
        if (bytes_is(request->arguments[i].name, name)) {
            *given = true;
            return request->arguments[i].value;
        }
    *given = false;
    return (struct bytes){0};
}

size_t request_arguments(const struct request *request, const char *name, struct bytes *values, size_t room)
{
    size_t count = 0;
    for (int i = 0; i < request->argument_count; i++)
        if (bytes_is(request->arguments[i].name, name)) {
            if (count < room)
                values[count] = request->arguments[i].value;
            count++;
        }
    return count;
}

// A tree of JSON takes many times the memory and time of its text: not more of it than a good request needs.
static bool may_parse(struct request *request)
{
    enum { TREE_BYTES = 160 }; // of a value or member, about
    size_t values = json_count_values(request->body);
    if (values > REQUEST_JSON_VALUES) {
        reply_over_limit(request, PROBLEM_TOO_LARGE, "body", REQUEST_JSON_VALUES,
                         "the JSON has more values and members than a request may have");
        return false;
    }
    if (!request_hold(request, values * TREE_BYTES)) {
        reply_simple_problem(request, PROBLEM_UNAVAILABLE, no_memory_for_body);
        return false;
    }
    return true;
}

json_t *request_json(struct request *request, bool empty_allowed)
{
    json_decref(request->json); // of a run that came to nothing
    request->json = NULL;
    if (!request->body.size && empty_allowed)
        return request->json = json_object();
    switch (json_check(request->body, REQUEST_JSON_DEPTH)) {
    case JSON_VALID:
        break;
    case JSON_TOO_DEEP:
        reply_too_deep(request, REQUEST_JSON_DEPTH);
        return NULL;
    case JSON_MALFORMED:
        reply_invalid(request, "body", "the body is not a JSON document");
        return NULL;
    }
    if (!may_parse(request))
        return NULL;
    json_error_t error;
    request->json = json_loadb((const char *)request->body.data, request->body.size,
                               JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
    if (!request->json && json_error_code(&error) == json_error_numeric_overflow) {
        reply_simple_problem(request, PROBLEM_OVERFLOW, "a number in the body is beyond 64 bits or a double");
        return NULL;
    }
    if (!request->json && json_error_code(&error) == json_error_duplicate_key) {
        const char *name = strstr(error.text, " near "); // of a short one
        reply_invalid(request, "body", "a member occurs twice%s", name ? name : "");
        return NULL;
    }
    if (!request->json) {
        reply_invalid(request, "body", "the body is not a JSON document");
        return NULL;
    }
    if (!json_is_object(request->json)) {
        reply_invalid(request, "body", "the body must be a JSON object");
        return NULL;
    }
    return request->json;
}

enum { LONGEST_NAME = 200 }; // of a member that is told back

bool request_json_members(struct request *request, json_t *object, const char *const *names)
{
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        bool known = false;
        for (int i = 0; names[i]; i++)
            known = known || strcmp(name, names[i]) == 0;
        if (!known) {
            reply_invalid(request, arena_printf(&request->arena, "%.*s", LONGEST_NAME, name),
                          "there is no such member");
            return false;
        }
    }
    return true;
}
