// HTTP/1.1 byte by byte: bodies in every form, replies without one, and everything that could be read in two
// ways.
#include "api.h"

#include "support/clock.h"
#include "support/raw.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

enum { PATIENCE = 10 * 1000 };

static struct raw *connect_raw(void)
{
    return raw_connect(service_port(api.service));
}

// One reply that must come, and keep the rules of every reply.
static struct answer *read_reply(struct raw *raw, bool head)
{
    struct answer *answer = raw_read(raw, head, PATIENCE);
    ck_assert_ptr_nonnull(answer);
    answer_check(answer);
    return answer;
}

START_TEST(no_body_on_204_and_304)
{
    const char *path = api_entry(api_bucket(), "k");
    ck_status(PUT(path, BODY("four")), 201);
    const char *tag = answer_need(GET(path), "ETag");
    struct raw *raw = connect_raw();
    // All on one connection and at once: a stray byte after any of them would spoil the next reply.
    raw_text(raw,
             "HEAD %s HTTP/1.1\r\nHost: h\r\n\r\n"
             "GET %s HTTP/1.1\r\nHost: h\r\nIf-None-Match: %s\r\n\r\n"
             "HEAD %s HTTP/1.1\r\nHost: h\r\nIf-None-Match: %s\r\n\r\n"
             "PUT %s HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nnew"
             "HEAD %s-absent HTTP/1.1\r\nHost: h\r\n\r\n"
             "DELETE %s HTTP/1.1\r\nHost: h\r\n\r\n"
             "GET %s HTTP/1.1\r\nHost: h\r\n\r\n",
             path, path, tag, path, tag, path, path, path, path);
    struct answer *head = read_reply(raw, true);
    ck_status(head, 200);
    ck_header(head, "Content-Length", "4");
    struct answer *same = read_reply(raw, false);
    ck_status(same, 304);
    const char *length = answer_header(same, "Content-Length");
    ck_reply(same, !length || strcmp(length, "4") == 0);
    ck_status(read_reply(raw, true), 304);
    struct answer *put = read_reply(raw, false);
    ck_status(put, 204);
    ck_header(put, "Content-Length", NULL);
    struct answer *absent = read_reply(raw, true);
    ck_status(absent, 404);
    ck_reply(absent, atoi(answer_need(absent, "Content-Length")) > 0);
    ck_status(read_reply(raw, false), 204);
    ck_status(read_reply(raw, false), 404);
    ck_assert(raw_silent(raw, 50));
    raw_close(raw);
}
END_TEST

START_TEST(created_has_length_zero)
{
    struct raw *raw = connect_raw();
    raw_text(raw, "PUT %s HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nv", api_entry(api_bucket(), "k"));
    struct answer *put = read_reply(raw, false);
    ck_status(put, 201);
    ck_header(put, "Content-Length", "0");
    raw_close(raw);
}
END_TEST

START_TEST(pipelined_requests)
{
    const char *bucket = api_bucket();
    struct raw *raw = connect_raw();
    enum { COUNT = 300 };
    for (int i = 0; i < COUNT; i++)
        raw_text(raw, "PUT %s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%03d",
                 api_entry(bucket, TEXT("%d", i % 7)), 3, i);
    for (int i = 0; i < COUNT; i++)
        raw_text(raw, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", api_entry(bucket, TEXT("%d", i % 7)));
    for (int i = 0; i < COUNT; i++)
        ck_status(read_reply(raw, false), i < 7 ? 201 : 204);
    for (int i = 0; i < COUNT; i++)
        ck_body(read_reply(raw, false), bytes_of(TEXT("%03d", COUNT - 1 - (COUNT - 1 - i % 7) % 7)));
    raw_close(raw);
}
END_TEST

START_TEST(chunked_bodies)
{
    const char *path = api_entry(api_bucket(), "k");
    struct raw *raw = connect_raw();
    static const char *const bodies[][2] = {
        {"5\r\nhello\r\n0\r\n\r\n", "hello"},
        {"1\r\na\r\n2\r\nbc\r\n0003\r\ndef\r\n0\r\n\r\n", "abcdef"},
        {"0\r\n\r\n", ""},
        {"A\r\n0123456789\r\na\r\nabcdefghij\r\n0\r\n\r\n", "0123456789abcdefghij"},
        {"3;name=value\r\nabc\r\n0\r\n\r\n", "abc"},
        {"3\r\nabc\r\n0\r\nTrailer-Field: x\r\n\r\n", "abc"},
        {"4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n"},
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        raw_text(raw, "PUT %s HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: %s\r\n\r\n%s", path,
                 i % 2 ? "chunked" : "Chunked", bodies[i][0]);
        struct answer *put = read_reply(raw, false);
        ck_reply(put, put->status == 201 || put->status == 204);
        ck_body(GET(path), bytes_of(bodies[i][1]));
    }
    raw_close(raw);
}
END_TEST

// Trailers come after the body and set nothing.
START_TEST(trailers_are_no_headers)
{
    const char *path = api_entry(api_bucket(), "k");
    struct raw *raw = connect_raw();
    raw_text(raw,
             "PUT %s HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
             "1\r\nv\r\n0\r\nIf-Match: \"1\"\r\nContent-Type: text/evil\r\nHoldfast-Meta-A: b\r\n\r\n",
             path);
    ck_status(read_reply(raw, false), 201);
    struct answer *got = GET(path);
    ck_header(got, "Content-Type", "application/octet-stream");
    ck_header(got, "Holdfast-Meta-A", NULL);
    raw_close(raw);
}
END_TEST

// HTTP-3: sends `size` bytes of body in pieces with a breath after each, however they are cut.
static void upload_in(struct raw *raw, struct bytes body, size_t piece)
{
    while (body.size) {
        size_t size = body.size < piece ? body.size : piece;
        ck_assert(raw_send(raw, bytes_make(body.data, size)));
        body = bytes_make(body.data + size, body.size - size);
        if (piece < 4096 ? body.size % 512 == 0 : body.size > 0)
            clock_pause(1);
    }
}

START_TEST(upload_in_pieces)
{
    enum { MOST = 1 << 20 };
    static const struct {
        size_t piece;
        size_t size;
    } rows[] = {{1, 3000}, {3, 9000}, {4095, MOST}, {65537, MOST}};
    const char *path = api_entry(api_bucket(), "k");
    uint8_t *value = malloc(MOST);
    for (size_t i = 0; i < MOST; i++)
        value[i] = (uint8_t)(i * 2654435761u >> 13);
    struct raw *raw = connect_raw();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bytes body = bytes_make(value + i, rows[i].size - 4);
        raw_text(raw, "PUT %s HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n", path, body.size);
        upload_in(raw, body, rows[i].piece);
        struct answer *put = read_reply(raw, false);
        ck_reply(put, put->status == 201 || put->status == 204);
        ck_assert(answer_is(GET(path), body));
    }
    raw_close(raw);
    free(value);
}
END_TEST

START_TEST(request_line_in_pieces)
{
    const char *path = api_entry(api_bucket(), "k");
    ck_status(PUT(path, BODY("v")), 201);
    const char *request = TEXT("GET %s HTTP/1.1\r\nHost: h\r\nX-Request-Id: pieces\r\n\r\n", path);
    struct raw *raw = connect_raw();
    for (const char *c = request; *c; c++)
        ck_assert(raw_send(raw, bytes_make(c, 1)));
    struct answer *got = read_reply(raw, false);
    ck_body(got, BODY("v"));
    ck_header(got, "Holdfast-Request-Id", "pieces");
    raw_close(raw);
}
END_TEST

// HTTP-3
START_TEST(expect_continue)
{
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    size_t small = 2 << 20, large = 9 << 20;
    uint8_t *value = calloc(1, small);
    struct raw *raw = connect_raw();
    int64_t start = clock_ms();
    raw_text(raw, "PUT %s HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\nExpect: 100-continue\r\n\r\n", path,
             small);
    struct answer *interim = raw_read(raw, false, PATIENCE);
    ck_assert_ptr_nonnull(interim);
    ck_status(interim, 100);
    ck_assert_int_lt(clock_ms() - start, 900); // curl would have waited a second
    ck_assert(raw_send(raw, bytes_make(value, small)));
    ck_status(read_reply(raw, false), 201);
    raw_text(raw, "PUT %s HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\nExpect: 100-Continue\r\n\r\n",
             api_entry(bucket, "large"), large);
    struct answer *refused = read_reply(raw, false);
    ck_problem(refused, 413, "too_large");
    ck_assert_int_eq(json_integer_value(json_object_get(refused->json, "limit")), 8 << 20);
    ck_assert(raw_closes(raw, PATIENCE));
    raw_close(raw);
    ck_status(GET(api_entry(bucket, "large")), 404);
    free(value);
}
END_TEST

// What curl does by itself for large bodies, with and without the expectation.
START_TEST(curl_can_read_a_413)
{
    size_t size = 9 << 20;
    uint8_t *value = calloc(1, size);
    const char *path = api_entry(api_bucket(), "k");
    for (int i = 0; i < 3; i++) {
        ck_problem(PUT(path, bytes_make(value, size), "Expect: 100-continue"), 413, "too_large");
        ck_problem(PUT(path, bytes_make(value, size)), 413, "too_large");
    }
    ck_problem(PUT(path, BODY("v"), "Content-Encoding: gzip", "Expect: 100-continue"), 415,
               "unsupported_media");
    ck_status(GET(path), 404);
    free(value);
}
END_TEST

START_TEST(chunked_over_limit)
{
    enum { PIECE = 64 << 10 };
    const char *path = api_entry(api_bucket(), "k");
    char *piece = calloc(1, PIECE);
    struct raw *raw = connect_raw();
    raw_text(raw, "PUT %s HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", path);
    for (int i = 0; i < (9 << 20) / PIECE; i++) {
        ck_assert(raw_text(raw, "%x\r\n", PIECE));
        ck_assert(raw_send(raw, bytes_make(piece, PIECE)));
        ck_assert(raw_text(raw, "\r\n"));
    }
    ck_assert(raw_text(raw, "0\r\n\r\n"));
    struct answer *refused = read_reply(raw, false);
    ck_problem(refused, 413, "too_large");
    if (!answer_header(refused, "Connection")) {
        raw_text(raw, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path);
        ck_status(read_reply(raw, false), 404);
    }
    raw_close(raw);
    ck_status(GET(path), 404);
    free(piece);
}
END_TEST

// A body without an end is cut off, and the service keeps none of it.
START_TEST(endless_body_is_cut_off)
{
    enum { PIECE = 1 << 20 };
    char *piece = calloc(1, PIECE);
    struct raw *raw = connect_raw();
    raw_text(raw, "PUT %s HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
             api_entry(api_bucket(), "k"));
    int sent = 0;
    while (sent < 200 && raw_text(raw, "%x\r\n", PIECE) && raw_send(raw, bytes_make(piece, PIECE)) &&
           raw_text(raw, "\r\n"))
        sent++;
    ck_assert_int_lt(sent, 64);
    raw_close(raw);
    free(piece);
    ck_status(GET("/livez"), 200);
}
END_TEST

// Sends `request` with another one hidden behind it: it must be refused with a 4xx or 5xx, or with no word,
// the connection must close, and the hidden request must not have happened.
static void expect_refused(const char *what, struct bytes request, const char *victim)
{
    struct raw *raw = connect_raw();
    char reply[65536];
    size_t size = 0;
    raw_send(raw, request);
    raw_text(raw, "DELETE %s HTTP/1.1\r\nHost: h\r\n\r\n", victim);
    int64_t until = clock_ms() + PATIENCE;
    ssize_t got = 1;
    struct timeval limit = {.tv_sec = PATIENCE / 1000};
    setsockopt(raw_fd(raw), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    while (size < sizeof reply - 1 && clock_ms() < until &&
           (got = recv(raw_fd(raw), reply + size, sizeof reply - 1 - size, 0)) > 0)
        size += (size_t)got;
    reply[size] = 0;
    bool closed = got == 0 || (got < 0 && errno == ECONNRESET);
    bool refused = !size || strncmp(reply, "HTTP/1.1 4", 10) == 0 || strncmp(reply, "HTTP/1.1 5", 10) == 0;
    if (!closed || !refused || strstr(reply, "HTTP/1.1 2"))
        ck_abort_msg("%s: %s: %s", what, closed ? "closed" : "open", reply);
    raw_close(raw);
    ck_status(GET(victim), 200);
}

START_TEST(doubtful_framing_is_refused)
{
    const char *path = api_entry(api_bucket(), "k");
    ck_status(PUT(path, BODY("v")), 201);
    static const char *const headers[] = {
        "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx",
        "Content-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: identity\r\n\r\n",
        "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
        "Content-Length: +1\r\n\r\nx",
        "Content-Length: -1\r\n\r\nx",
        "Content-Length: 1, 1\r\n\r\nx",
        "Content-Length: 0x1\r\n\r\nx",
        "Content-Length: 1 1\r\n\r\nx",
        "Content-Length: one\r\n\r\nx",
        "Content-Length: 99999999999999999999999\r\n\r\nx",
        "Content-Length : 5\r\n\r\n",
        "Content-Length\t: 5\r\n\r\n",
        "Content-Length:\r\n 5\r\n\r\n",
        " Content-Length: 5\r\n\r\n",
        "Transfer-Encoding : chunked\r\n\r\n",
        "Host: i\r\n\r\n",
        "X\x01Y: z\r\n\r\n",
        "X Y: z\r\n\r\n",
        "X(Y): z\r\n\r\n",
        "no colon\r\n\r\n",
        "X: a\x01z\r\n\r\n",
        "X: a\x7Fz\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        expect_refused(headers[i], bytes_of(TEXT("PUT %s HTTP/1.1\r\nHost: h\r\n%s", path, headers[i])),
                       path);
    static const char *const chunks[] = {
        "x\r\nabc\r\n0\r\n\r\n",  "0x3\r\nabc\r\n0\r\n\r\n", "-1\r\nabc\r\n0\r\n\r\n",
        "3\r\nabcd\r\n0\r\n\r\n", "\r\nabc\r\n0\r\n\r\n",    "FFFFFFFFFFFFFFFFF\r\nabc\r\n0\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++)
        expect_refused(chunks[i],
                       bytes_of(TEXT("PUT %s HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n%s",
                                     path, chunks[i])),
                       path);
    ck_body(GET(path), BODY("v"));
}
END_TEST

// Sends the bytes of a request, zero bytes too; a problem of this kind and with this limit (0 for none) must
// come, and the connection close.
static void expect_problem(struct bytes request, int status, const char *kind, int64_t limit)
{
    struct raw *raw = connect_raw();
    raw_send(raw, request);
    struct answer *refused = read_reply(raw, false);
    ck_over_limit(refused, status, kind, limit);
    ck_assert(raw_closes(raw, PATIENCE));
    raw_close(raw);
}

// The library hands over C strings, so a zero byte would end a key or a value early.
START_TEST(zero_bytes_are_refused)
{
    const char *path = api_entry(api_bucket(), "k");
    ck_status(PUT(path, BODY("v")), 201);
    static const struct {
        size_t size;
        const char *target; // after the path
        const char *rest;
    } rows[] = {
#define ROW(target, rest) {sizeof(rest) - 1, target, rest}
        ROW("", "\0 HTTP/1.1\r\nHost: h\r\n\r\n"),
        ROW("", "\0l HTTP/1.1\r\nHost: h\r\n\r\n"),
        ROW("", "\0?under=a HTTP/1.1\r\nHost: h\r\n\r\n"),
        ROW("?under=", "\0 HTTP/1.1\r\nHost: h\r\n\r\n"),
        ROW("?under=a", "\0b HTTP/1.1\r\nHost: h\r\n\r\n"),
        ROW("?under=a", "\0&ttl=1s HTTP/1.1\r\nHost: h\r\n\r\n"),
        ROW("?under", "\0=a HTTP/1.1\r\nHost: h\r\n\r\n"),
        ROW("?", "\0under=a HTTP/1.1\r\nHost: h\r\n\r\n"),
        ROW("", " HTTP/1.1\r\nHost: h\0\r\n\r\n"),
        ROW("", " HTTP/1.1\r\nHost: h\0i\r\n\r\n"),
        ROW("", " HTTP/1.1\r\nHost: h\r\nContent-Type: text\0/plain\r\nX: y\r\n\r\n"),
        ROW("", " HTTP/1.1\r\nHost: h\r\nIf-Match: \0\"1\"\r\nX: y\r\n\r\n"),
        ROW("", " HTTP/1.1\r\nHost: h\r\nX: y\0z\r\n\r\n"),
        ROW("", " HTTP/1.1\r\nHost: h\r\nX:\0\r\n\r\n"),
        ROW("", " HTTP/1.1\r\nHost: h\r\n\0X: y\r\n\r\n"), // would end the section
        ROW("", " HTTP/1.1\r\nHost: h\r\n\0\r\n\r\n"),
        ROW("", " HTTP/1.1\r\nHost: h\r\nX: a\r\n b\0c\r\n\r\n"),
#undef ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *head = TEXT("GET %s%s", path, rows[i].target);
        char request[512];
        memcpy(request, head, strlen(head));
        memcpy(request + strlen(head), rows[i].rest, rows[i].size);
        expect_problem(bytes_make(request, strlen(head) + rows[i].size), 400, "invalid", 0);
    }
    expect_problem(BODY("GET\0X /livez HTTP/1.1\r\nHost: h\r\n\r\n"), 400, "invalid", 0);
    ck_body(GET(path), BODY("v"));
}
END_TEST

// A folded line comes from the library as a part of the name before it.
START_TEST(folded_headers_are_refused)
{
    const char *path = api_entry(api_bucket(), "k");
    static const char *const headers[] = {
        "Holdfast-Meta-A: one\r\n two\r\n",   "Holdfast-Meta-A: one\r\n\ttwo\r\nX: y\r\n",
        "If-None-Match:\r\n *\r\n",           "X: y\r\n \r\n",
        "Content-Type: text/\r\n  plain\r\n", ": nameless\r\n",
    };
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        expect_problem(
            bytes_of(TEXT("PUT %s HTTP/1.1\r\nHost: h\r\n%sContent-Length: 1\r\n\r\nv", path, headers[i])),
            400, "invalid", 0);
    ck_status(GET(path), 404);
}
END_TEST

// Lines may end in a lone LF, and values have white space around them.
START_TEST(loose_lines_are_read)
{
    const char *path = api_entry(api_bucket(), "k");
    struct raw *raw = connect_raw();
    raw_text(raw, "PUT %s HTTP/1.1\nHost:h\nHoldfast-Meta-A:  \t one \t \nX:\nContent-Length: 1\n\nv", path);
    ck_status(read_reply(raw, false), 201);
    raw_text(raw, "\r\n\r\nGET %s? HTTP/1.1\r\nX:  \r\nHost: h\n\r\n", path);
    ck_header(read_reply(raw, false), "Holdfast-Meta-A", "one");
    raw_text(raw, "GET %s?& HTTP/1.1\r\nHost: h\r\n\r\n", path);
    ck_status(read_reply(raw, false), 200);
    raw_text(raw, "GET /livez HTTP/1.0\r\n\r\n");
    ck_status(read_reply(raw, false), 200);
    raw_close(raw);
}
END_TEST

START_TEST(bare_spaces_and_a_missing_host_are_400)
{
    const char *path = api_entry(api_bucket(), "k");
    ck_status(PUT(path, BODY("v")), 201);
    const char *requests[] = {
        TEXT("GET %s HTTP/1.1\r\n\r\n", path),
        TEXT("GET %s HTTP/1.1\r\nX-Host: h\r\n\r\n", path),
        TEXT("GET %s l HTTP/1.1\r\nHost: h\r\n\r\n", path),
        TEXT("GET %s?under=a b HTTP/1.1\r\nHost: h\r\n\r\n", path),
        TEXT("GET %s HTTP/1.1 HTTP/1.1\r\nHost: h\r\n\r\n", path),
        TEXT("GET  %s HTTP/1.1\r\nHost: h\r\n\r\n", path),
        TEXT("GET %s  HTTP/1.1\r\nHost: h\r\n\r\n", path),
    };
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++)
        expect_problem(bytes_of(requests[i]), 400, "invalid", 0);
}
END_TEST

START_TEST(what_is_not_http_is_refused)
{
    const char *path = api_entry(api_bucket(), "k");
    ck_status(PUT(path, BODY("v")), 201);
    const char *requests[] = {
        TEXT("GET %s\r\n\r\n", path),
        TEXT("GET %s HTTP/1.1\r\n\r\n", path), // without Host
        TEXT("GET %s HTTP/2.0\r\nHost: h\r\n\r\n", path),
        TEXT("GET %s HTPT/1.1\r\nHost: h\r\n\r\n", path),
        TEXT("GET %s%%20x y HTTP/1.1\r\nHost: h\r\n\r\n", path),
        "GET\r\n\r\n",
        "\x16\x03\x01\x02\x01\x01\x01\xFC\x03\x03 hello over TLS\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++)
        expect_refused(requests[i], bytes_of(requests[i]), path);
}
END_TEST

START_TEST(repeated_header_is_400)
{
    const char *path = api_entry(api_bucket(), "k");
    static const char *const once[] = {"Content-Type: text/plain", "Idempotency-Key: k",
                                       "Authorization: Bearer x", "Holdfast-Session: a/b", "X-Request-Id: i"};
    for (size_t i = 0; i < sizeof once / sizeof once[0]; i++) {
        struct answer *answer = PUT(path, BODY("v"), once[i], once[i]);
        ck_problem(answer, 400, "invalid");
        ck_reply(answer, strncmp(answer_text(answer, "parameter"), once[i], 5) == 0);
        ck_status(GET(path), 404);
    }
    struct raw *raw = connect_raw();
    raw_text(raw, "GET %s HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n", path);
    ck_problem(read_reply(raw, false), 400, "invalid");
    ck_assert(raw_closes(raw, PATIENCE));
    raw_close(raw);
}
END_TEST

// A head of `size` bytes in `count` headers beside those that every request has.
static const char *head_of(const char *method, const char *path, size_t size, size_t count)
{
    const char *start = TEXT("%s %s HTTP/1.1\r\nHost: h\r\n", method, path);
    char *head = calloc(1, size + 1);
    size_t used = (size_t)sprintf(head, "%s", start);
    size_t each = (size - used - 2) / count;
    for (size_t i = 0; i < count; i++) {
        size_t left = i + 1 < count ? each : size - used - 2;
        size_t named = (size_t)sprintf(head + used, "X-%zu: ", i);
        memset(head + used + named, 'v', left - named - 2);
        memcpy(head + used + left - 2, "\r\n", 2);
        used += left;
    }
    memcpy(head + used, "\r\n", 2);
    const char *kept = TEXT("%s", head);
    free(head);
    return kept;
}

START_TEST(header_section_limits)
{
    enum { FITS = 12 * 1024 };
    const char *path = api_entry(api_bucket(), "k");
    char meta[2040];
    memset(meta, 'm', sizeof meta);
    meta[sizeof meta - 1] = 0;
    ck_status(PUT(path, BODY("v"), TEXT("Holdfast-Meta-a: %s", meta)),
              201); // so that the reply's head is large too
    static const size_t counts[] = {1, 2, 10, 40, 60};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct raw *raw = connect_raw();
        raw_text(raw, "%s", head_of("GET", path, FITS, counts[i]));
        ck_status(read_reply(raw, false), 200);
        raw_text(raw, "%s", head_of("DELETE", TEXT("%s-other", path), FITS, counts[i]));
        ck_status(read_reply(raw, false), 404);
        raw_close(raw);
    }
    static const size_t sizes[] = {24, 32, 64, 200};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct raw *raw = connect_raw();
        raw_text(raw, "%s", head_of("GET", path, sizes[i] * 1024, 20));
        struct answer *refused = raw_read(raw, false, PATIENCE);
        ck_assert_ptr_nonnull(refused);
        ck_status(refused, 431);
        ck_assert(raw_closes(raw, PATIENCE));
        raw_close(raw);
    }
    // Whatever lies between is answered or refused, never dropped after the work was done.
    for (size_t size = FITS; size < 24 * 1024; size += 512) {
        struct raw *raw = connect_raw();
        raw_text(raw, "%s", head_of("GET", path, size, 15));
        struct answer *answer = raw_read(raw, false, PATIENCE);
        ck_assert_ptr_nonnull(answer);
        ck_reply(answer, answer->status == 200 || answer->status == 431);
        raw_close(raw);
    }
}
END_TEST

START_TEST(long_request_lines)
{
    const char *bucket = api_bucket();
    struct raw *raw = connect_raw();
    char *name = malloc(40000);
    memset(name, 'k', 40000);
    name[39999] = 0;
    raw_text(raw, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", api_entry(bucket, name));
    struct answer *refused = raw_read(raw, false, PATIENCE);
    ck_assert_ptr_nonnull(refused);
    ck_reply(refused, refused->status == 414 || refused->status == 431);
    ck_assert(raw_closes(raw, PATIENCE));
    raw_close(raw);
    name[10000] = 0;
    ck_problem(GET(api_entry(bucket, name)), 413, "too_large");
    free(name);
}
END_TEST

enum { PARAMETERS = 128 };

static void expect_too_many_parameters(const char *target)
{
    expect_problem(bytes_of(TEXT("GET %s HTTP/1.1\r\nHost: h\r\n\r\n", target)), 431, "headers_too_large",
                   PARAMETERS);
}

// The library's memory does not hold them all, and it would hang or close without a word.
START_TEST(many_query_parameters)
{
    enum { LONGEST = 15000 };
    const char *path = api_entry(api_bucket(), "k");
    const char *query = "?under=0";
    for (int i = 1; i < PARAMETERS; i++)
        query = TEXT("%s&under=%d", query, i);
    ck_over_limit(GET(TEXT("%s%s", path, query)), 413, "too_large", 64);
    expect_too_many_parameters(TEXT("%s%s&under=x", path, query));
    char *run = malloc(LONGEST + 1);
    static const int counts[] = {PARAMETERS, 200, 300, 1000, 4000, 10000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        memset(run, '&', LONGEST);
        run[counts[i]] = 0;
        expect_too_many_parameters(TEXT("%s?%s", path, run));
    }
    // Long ones: whatever fits is answered, and the rest is refused.
    for (int size = 9000; size <= LONGEST; size += 500) {
        memset(run, 'x', LONGEST);
        for (int i = 1; i < PARAMETERS; i++)
            run[i * size / PARAMETERS] = '&';
        run[size] = 0;
        struct raw *raw = connect_raw();
        raw_text(raw, "GET %s?%s HTTP/1.1\r\nHost: h\r\n\r\n", path, run);
        struct answer *refused = read_reply(raw, false);
        ck_reply(refused, refused->status == 400 || refused->status == 431);
        raw_close(raw);
    }
    free(run);
}
END_TEST

START_TEST(http_1_0)
{
    const char *path = api_entry(api_bucket(), "k");
    struct raw *raw = connect_raw();
    raw_text(raw, "PUT %s HTTP/1.0\r\nContent-Length: 1\r\n\r\nv", path);
    struct answer *put = raw_read(raw, false, PATIENCE);
    ck_assert_ptr_nonnull(put);
    ck_status(put, 201);
    ck_assert(raw_closes(raw, PATIENCE));
    raw_close(raw);
    raw = connect_raw();
    raw_text(raw, "PUT %s HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nw\r\n0\r\n\r\n", path);
    ck_status(raw_read(raw, false, PATIENCE), 400);
    ck_assert(raw_closes(raw, PATIENCE));
    raw_close(raw);
    ck_body(GET(path), BODY("v"));
}
END_TEST

START_TEST(connection_close_is_obeyed)
{
    struct raw *raw = connect_raw();
    raw_text(raw, "GET /livez HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    struct answer *answer = read_reply(raw, false);
    ck_status(answer, 200);
    ck_header(answer, "Connection", "close");
    ck_assert(raw_closes(raw, PATIENCE));
    raw_close(raw);
}
END_TEST

START_TEST(connections_are_kept)
{
    const char *path = api_entry(api_bucket(), "k");
    for (int i = 0; i < 20; i++) {
        ck_status(PUT(path, BODY("v")), i ? 204 : 201);
        ck_status(GET(path), 200);
        ck_status(GET(TEXT("%s-absent", path)), 404);
        ck_status(PUT(TEXT("%s?ttl=0s", path), BODY("v")), 400);
        ck_status(PUT(path, BODY("w"), "If-None-Match: *"), 412);
    }
    ck_assert_int_eq(http_connections(api.client), 1);
}
END_TEST

START_TEST(absolute_and_odd_targets)
{
    const char *path = api_entry(api_bucket(), "k");
    ck_status(PUT(path, BODY("v")), 201);
    ck_body(GET(TEXT("http://anywhere%s", path)), BODY("v"));
    ck_status(GET("http://anywhere"), 404);
    ck_problem(GET(TEXT("%s#fragment", path)), 400, "invalid");
    static const char *const odd[] = {"*",    "livez",   "/",         "//",         "/v1",
                                      "/v1/", "/livez/", "/livez%2F", "/%6Civez%00"};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        struct answer *answer = GET(odd[i]);
        if (answer->status != 404 && answer->status != 400)
            ck_abort_msg("%s: %s", odd[i], answer_describe(answer));
    }
}
END_TEST

// A GET with a body is odd but no fault; the body is read away and the connection goes on.
START_TEST(bodies_nobody_wants)
{
    const char *path = api_entry(api_bucket(), "k");
    ck_status(PUT(path, BODY("v")), 201);
    struct raw *raw = connect_raw();
    raw_text(raw,
             "GET %s HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"
             "DELETE %s HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
             "GET %s HTTP/1.1\r\nHost: h\r\n\r\n",
             path, path, path);
    ck_body(read_reply(raw, false), BODY("v"));
    ck_status(read_reply(raw, false), 204);
    ck_status(read_reply(raw, false), 404);
    raw_close(raw);
}
END_TEST

START_TEST(clients_that_vanish)
{
    const char *path = api_entry(api_bucket(), "k");
    for (int i = 0; i < 60; i++) {
        struct raw *raw = connect_raw();
        switch (i % 6) {
        case 0:
            raw_text(raw, "GET %s HT", path);
            break;
        case 1:
            raw_text(raw, "PUT %s HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nhalf", path);
            break;
        case 2:
            raw_text(raw, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path);
            break;
        case 3:
            raw_text(raw, "PUT %s HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe", path);
            break;
        case 4:
            raw_text(raw, "PUT %s-%d HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nv", path, i);
            break;
        default:
            break;
        }
        if (i % 2)
            raw_abort(raw);
        else
            raw_close(raw);
    }
    ck_status(GET(path), 404); // nothing half arrived is kept
    ck_status(GET("/livez"), 200);
}
END_TEST

// A client that has said all it wants to say still gets its reply.
START_TEST(half_closed_client)
{
    struct raw *raw = connect_raw();
    raw_text(raw, "GET /livez HTTP/1.1\r\nHost: h\r\n\r\n");
    raw_shutdown(raw);
    ck_status(read_reply(raw, false), 200);
    raw_close(raw);
}
END_TEST

Suite *framing_suite(void)
{
    const TTest *const tests[] = {
        no_body_on_204_and_304,
        created_has_length_zero,
        pipelined_requests,
        chunked_bodies,
        trailers_are_no_headers,
        upload_in_pieces,
        request_line_in_pieces,
        expect_continue,
        curl_can_read_a_413,
        chunked_over_limit,
        endless_body_is_cut_off,
        doubtful_framing_is_refused,
        what_is_not_http_is_refused,
        zero_bytes_are_refused,
        folded_headers_are_refused,
        loose_lines_are_read,
        bare_spaces_and_a_missing_host_are_400,
        repeated_header_is_400,
        header_section_limits,
        long_request_lines,
        many_query_parameters,
        http_1_0,
        connection_close_is_obeyed,
        connections_are_kept,
        absolute_and_odd_targets,
        bodies_nobody_wants,
        clients_that_vanish,
        half_closed_client,
        NULL,
    };
    return api_suite("framing", NULL, tests);
}
