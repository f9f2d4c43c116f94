// libcurl's easy interface, told to send what the test says and nothing of its own.
#include "support/http.h"

#include "support/document.h"
#include "support/failure.h"

#include <ctype.h>
#include <curl/curl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { LIMIT_MS = 30 * 1000 };

struct text {
    struct text *next;
    char data[];
};

struct memory {
    char *data;
    size_t size;
    size_t room;
};

struct http_client {
    CURL *curl;
    char *url;
    struct answer *answers;
    struct text *texts;
    struct memory head;
    struct memory body;
    long connections;
    bool reconnects; // with the next request
    bool proxied;
    CURLcode last;
    const char *authority;
    const char *certificate;
    const char *key;
};

struct http_client *http_client_new(const char *url)
{
    struct http_client *client = calloc(1, sizeof *client);
    if (!client || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        support_fail("libcurl does not start");
    client->curl = curl_easy_init();
    client->url = strdup(url);
    if (!client->curl || !client->url)
        support_fail("libcurl does not start");
    return client;
}

void http_client_free(struct http_client *client)
{
    if (!client)
        return;
    curl_easy_cleanup(client->curl);
    for (struct answer *answer = client->answers, *next; answer; answer = next) {
        next = answer->next;
        answer_free(answer);
    }
    for (struct text *text = client->texts, *next; text; text = next) {
        next = text->next;
        free(text);
    }
    free(client->head.data);
    free(client->body.data);
    free(client->url);
    free(client);
}

void http_client_use_tls(struct http_client *client, const char *authority, const char *certificate,
                         const char *key)
{
    client->authority = authority;
    client->certificate = certificate;
    client->key = key;
}

void http_client_through_proxy(struct http_client *client)
{
    client->proxied = true;
}

void http_client_reconnect(struct http_client *client)
{
    client->reconnects = true;
}

static size_t append(struct memory *memory, const char *data, size_t size)
{
    if (memory->room < memory->size + size + 1) {
        memory->room = 2 * memory->size + size + 1;
        memory->data = realloc(memory->data, memory->room);
        if (!memory->data)
            support_fail("no memory for a reply");
    }
    memcpy(memory->data + memory->size, data, size);
    memory->size += size;
    memory->data[memory->size] = 0;
    return size;
}

static size_t take_head(char *data, size_t one, size_t size, void *user)
{
    struct http_client *client = user;
    (void)one;
    if (size >= 5 && strncmp(data, "HTTP/", 5) == 0)
        client->head.size = 0; // the lines before were an interim reply
    if (size == 2 && data[0] == '\r')
        return size;
    return append(&client->head, data, size);
}

static size_t take_body(char *data, size_t one, size_t size, void *user)
{
    struct http_client *client = user;
    (void)one;
    return append(&client->body, data, size);
}

static bool has_header(const char *const *headers, const char *name)
{
    size_t size = strlen(name);
    for (; *headers; headers++)
        if (strncasecmp(*headers, name, size) == 0 && ((*headers)[size] == ':' || (*headers)[size] == ';'))
            return true;
    return false;
}

static struct curl_slist *header_list(const char *const *headers)
{
    // libcurl adds these by itself unless told not to.
    static const char *const unasked[] = {"Accept", "Content-Type", "Expect"};
    struct curl_slist *list = NULL;
    for (size_t i = 0; i < sizeof unasked / sizeof unasked[0]; i++) {
        char line[32];
        snprintf(line, sizeof line, "%s:", unasked[i]);
        if (!has_header(headers, unasked[i]))
            list = curl_slist_append(list, line);
    }
    for (; *headers; headers++)
        list = curl_slist_append(list, *headers);
    return list;
}

static void set_up(struct http_client *client, const char *method, const char *target, struct bytes body,
                   struct curl_slist *headers, int limit_ms)
{
    CURL *curl = client->curl;
    curl_easy_reset(curl);
    client->head.size = 0;
    client->body.size = 0;
    curl_easy_setopt(curl, CURLOPT_URL, client->url);
    curl_easy_setopt(curl, CURLOPT_REQUEST_TARGET, target);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)limit_ms);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_head);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, client);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, client);
    if (strcmp(method, "HEAD") == 0) {
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    } else if (body.data) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.size);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data);
    }
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, client->reconnects ? 1L : 0L);
    client->reconnects = false;
    if (client->authority)
        curl_easy_setopt(curl, CURLOPT_CAINFO, client->authority);
    if (client->certificate) {
        curl_easy_setopt(curl, CURLOPT_SSLCERT, client->certificate);
        curl_easy_setopt(curl, CURLOPT_SSLKEY, client->key);
    }
}

// The reply gathered by the callbacks, which becomes the client's.
static struct answer *take_answer(struct http_client *client, const char *method)
{
    const char *fault;
    struct answer *answer =
        answer_parse(client->head.data ? client->head.data : "", client->head.size, &fault);
    if (!answer)
        support_fail("%s: %s", fault, client->head.data ? client->head.data : "");
    answer->head_request = strcmp(method, "HEAD") == 0;
    answer->next = client->answers;
    client->answers = answer;
    append(&client->body, "", 0);
    answer_set_body(answer, client->body.data, client->body.size);
    client->body = (struct memory){0};
    return answer;
}

static CURLcode perform(struct http_client *client, const char *method, const char *target, struct bytes body,
                        const char *const *headers, int limit_ms)
{
    struct curl_slist *list = header_list(headers);
    long opened = 0;
    set_up(client, method, target, body, list, limit_ms);
    CURLcode code = curl_easy_perform(client->curl);
    curl_easy_getinfo(client->curl, CURLINFO_NUM_CONNECTS, &opened);
    client->connections += opened;
    client->last = code;
    curl_slist_free_all(list);
    return code;
}

static struct answer *take_judged(struct http_client *client, const char *method, const char *target)
{
    struct answer *answer = take_answer(client, method);
    if (client->proxied)
        return answer;
    answer_check(answer);
    document_check(method, target, answer);
    return answer;
}

struct answer *http_try(struct http_client *client, const char *method, const char *target, struct bytes body,
                        const char *const *headers, int limit_ms)
{
    if (perform(client, method, target, body, headers, limit_ms) != CURLE_OK)
        return NULL;
    return take_judged(client, method, target);
}

struct answer *http_send(struct http_client *client, const char *method, const char *target,
                         struct bytes body, const char *const *headers)
{
    CURLcode code = perform(client, method, target, body, headers, LIMIT_MS);
    if (code != CURLE_OK)
        support_fail("%s %s: %s", method, target, curl_easy_strerror(code));
    return take_judged(client, method, target);
}

static char *new_text(struct http_client *client, size_t size)
{
    struct text *text = malloc(sizeof *text + size + 1);
    if (!text)
        support_fail("no memory for a text");
    text->next = client->texts;
    client->texts = text;
    return text->data;
}

const char *http_text(struct http_client *client, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    char *text = new_text(client, (size_t)size);
    vsnprintf(text, (size_t)size + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}

const char *http_encode(struct http_client *client, struct bytes bytes)
{
    static const char digits[] = "0123456789ABCDEF";
    char *text = new_text(client, bytes.size * 3);
    char *at = text;
    for (size_t i = 0; i < bytes.size; i++) {
        uint8_t c = bytes.data[i];
        if (c < 0x80 && (isalnum(c) || (c && strchr("-._~", c)))) {
            *at++ = (char)c;
            continue;
        }
        *at++ = '%';
        *at++ = digits[c >> 4];
        *at++ = digits[c & 15];
    }
    *at = 0;
    return text;
}

bool http_refused(const struct http_client *client)
{
    return client->last == CURLE_COULDNT_CONNECT;
}

long http_connections(const struct http_client *client)
{
    return client->connections;
}
