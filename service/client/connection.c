// One libcurl handle; its connection is kept from request to request.
#include "client/connection.h"

#include "base/text.h"
#include "client/arguments.h"
#include "client/exit_code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECT_SECONDS = 5 };

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

// Takes the list apart. A path behind an address stays: the service may be served below one.
static bool read_urls(struct connection *connection, const char *urls)
{
    for (const char *at = urls; *at;) {
        size_t size = strcspn(at, ", ");
        while (size && at[size - 1] == '/')
            size--;
        const char *url = (const char *)arena_copy(&connection->arena, bytes_make(at, size)).data;
        if (size && !begins(url, "http://") && !begins(url, "https://")) {
            fputs("holdfast: an address begins with http:// or https:// (HOLDFAST_URL, --url)\n", stderr);
            return false;
        }
        if (size && connection->url_count < CONNECTION_URLS)
            connection->urls[connection->url_count++] = url;
        at += strcspn(at, ", ");
        at += strspn(at, ", ");
    }
    if (connection->url_count == 0)
        fputs("holdfast: the service's address is missing (HOLDFAST_URL, --url)\n", stderr);
    return connection->url_count > 0;
}

static bool read_token(struct connection *connection)
{
    const char *token = getenv("HOLDFAST_TOKEN");
    if (!token || !*token)
        return true;
    if (text_has_control(bytes_of(token))) {
        fputs("holdfast: what HOLDFAST_TOKEN has is no token\n", stderr);
        return false;
    }
    connection->bearer = arena_printf(&connection->arena, "Authorization: Bearer %s", token);
    return true;
}

static void set_tls(CURL *curl, const struct arguments *arguments)
{
    if (arguments->ca_file)
        curl_easy_setopt(curl, CURLOPT_CAINFO, arguments->ca_file);
    if (arguments->cert)
        curl_easy_setopt(curl, CURLOPT_SSLCERT, arguments->cert);
    if (arguments->cert_key)
        curl_easy_setopt(curl, CURLOPT_SSLKEY, arguments->cert_key);
}

bool connection_begin(struct connection *connection, const struct arguments *arguments)
{
    *connection = (struct connection){.timeout = arguments->timeout};
    if (!read_urls(connection, arguments->urls) || !read_token(connection))
        return false;
    connection->curl = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? curl_easy_init() : NULL;
    if (!connection->curl) {
        fputs("holdfast: libcurl cannot start\n", stderr);
        return false;
    }
    set_tls(connection->curl, arguments);
    return true;
}

void connection_end(struct connection *connection)
{
    curl_slist_free_all(connection->headers);
    curl_easy_cleanup(connection->curl);
    arena_free(&connection->arena);
    *connection = (struct connection){0};
}

int connection_misused(struct connection *connection)
{
    connection_end(connection);
    return EXIT_USAGE;
}

bool connection_header(struct connection *connection, const char *name, const char *value)
{
    if (text_has_control(bytes_of(value))) {
        fprintf(stderr, "holdfast: what is given for %s has control characters\n", name);
        return false;
    }
    // Libcurl's spelling of a header without a value is another.
    struct arena arena = {0};
    const char *line =
        *value ? arena_printf(&arena, "%s: %s", name, value) : arena_printf(&arena, "%s;", name);
    connection->headers = curl_slist_append(connection->headers, line); // a copy
    arena_free(&arena);
    return true;
}

struct curl_slist *connection_take_headers(struct connection *connection)
{
    struct curl_slist *headers = connection->headers;
    connection->headers = NULL;
    if (connection->bearer)
        headers = curl_slist_append(headers, connection->bearer);
    // No round trip to ask whether a body may be sent, and no content type that nobody asked for.
    headers = curl_slist_append(headers, "Expect:");
    bool typed = false;
    for (struct curl_slist *line = headers; line; line = line->next)
        typed = typed || begins(line->data, "Content-Type");
    return typed ? headers : curl_slist_append(headers, "Content-Type:");
}

void connection_prepare(const struct connection *connection, CURL *curl, const char *method,
                        const char *target, struct bytes body, bool has_body, struct curl_slist *headers)
{
    char *url = NULL;
    if (asprintf(&url, "%s%s", connection->urls[connection->url], target) < 0)
        abort();
    curl_easy_setopt(curl, CURLOPT_URL, url); // copied
    free(url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L); // a key may be `..`
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "holdfast/" HOLDFAST_VERSION);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    if (has_body) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.size);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.size ? (const char *)body.data : "");
    } else {
        curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
    }
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
}

void connection_use_next(struct connection *connection)
{
    connection->url = (connection->url + 1) % connection->url_count;
}

static bool send_to_current(struct connection *connection, const char *method, const char *target,
                            struct bytes body, int64_t wait, struct curl_slist *headers, struct reply *reply)
{
    CURL *curl = connection->curl;
    reply_clear(reply);
    connection->error[0] = 0;
    connection_prepare(connection, curl, method, target, body, body.data != NULL, headers);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, connection->error);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)((connection->timeout + wait) / 1000));
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, reply_add_head);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, reply);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, reply_add_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, reply);
    CURLcode code = curl_easy_perform(curl);
    if (code == CURLE_OK) {
        long status = 0;
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        reply->status = (int)status;
        return true;
    }
    connection->unsent = code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST;
    if (!connection->error[0])
        snprintf(connection->error, sizeof connection->error, "%s", curl_easy_strerror(code));
    connection_use_next(connection);
    return false;
}

// Tries the addresses, each once, for as long as `again` says that trying is safe.
static bool try_urls(struct connection *connection, const char *method, const char *target, struct bytes body,
                     int64_t wait, bool repeatable, struct reply *reply)
{
    struct curl_slist *headers = connection_take_headers(connection);
    bool answered = false;
    for (int i = 0; i < connection->url_count && !answered; i++) {
        answered = send_to_current(connection, method, target, body, wait, headers, reply);
        if (!answered && !repeatable && !connection->unsent)
            break;
    }
    curl_slist_free_all(headers);
    return answered;
}

bool connection_send(struct connection *connection, const char *method, const char *target, struct bytes body,
                     int64_t wait, struct reply *reply)
{
    return try_urls(connection, method, target, body, wait, false, reply);
}

bool connection_ask(struct connection *connection, const char *method, const char *target, struct bytes body,
                    int64_t wait, struct reply *reply)
{
    return try_urls(connection, method, target, body, wait, true, reply);
}

void reply_clear(struct reply *reply)
{
    reply->status = 0;
    buffer_clear(&reply->head);
    buffer_clear(&reply->body);
}

void reply_free(struct reply *reply)
{
    buffer_free(&reply->head);
    buffer_free(&reply->body);
}

size_t reply_add_head(char *data, size_t size, size_t count, void *user)
{
    struct reply *reply = user;
    // An interim reply came before.
    if (size * count > 5 && !memcmp(data, "HTTP/", 5))
        buffer_clear(&reply->head);
    buffer_add(&reply->head, data, size * count);
    return size * count;
}

size_t reply_add_body(char *data, size_t size, size_t count, void *user)
{
    struct reply *reply = user;
    buffer_add(&reply->body, data, size * count);
    return size * count;
}

bool reply_field(const struct reply *reply, const char *name, struct bytes *value)
{
    const uint8_t *at = reply->head.data, *end = reply->head.size ? at + reply->head.size : at;
    while (at < end) {
        const uint8_t *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end ? line_end : end;
        const uint8_t *colon = memchr(at, ':', (size_t)(line_end - at));
        if (colon && text_equals_lower(bytes_make(at, (size_t)(colon - at)), name)) {
            size_t size = (size_t)(line_end - colon - 1);
            *value = bytes_make(colon + 1, size && colon[size] == '\r' ? size - 1 : size);
            *value = text_trim(*value);
            return true;
        }
        at = line_end < end ? line_end + 1 : end;
    }
    return false;
}

struct bytes reply_version(const struct reply *reply)
{
    struct bytes tag;
    if (!reply_field(reply, "etag", &tag))
        return NO_BODY;
    if (tag.size > 2 && tag.data[0] == 'W' && tag.data[1] == '/')
        tag = bytes_make(tag.data + 2, tag.size - 2);
    bool quoted = tag.size >= 2 && tag.data[0] == '"' && tag.data[tag.size - 1] == '"';
    return quoted ? bytes_make(tag.data + 1, tag.size - 2) : tag;
}
