// Finds the operation and the response of the OpenAPI document that a reply must keep to.
#include "support/document.h"

#include "support/failure.h"
#include "support/schema.h"
#include "support/scratch.h"

#include <ctype.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

struct header {
    const char *name; // one that ends in * stands for all that begin so
    bool required;
    const struct schema *schema;
};

struct content {
    const char *type;
    const struct schema *schema;
};

struct response {
    int status; // 0: of any other
    const char *description;
    struct header *headers;
    size_t header_count;
    struct content *contents;
    size_t content_count;
};

struct operation {
    const char *method;
    const char *path;
    struct response *responses;
    size_t response_count;
};

static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static json_t *document;
static struct schemas *schemas;
static struct operation *operations;
static size_t operation_count;

static void *need(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (!memory)
        support_fail("no memory for the document");
    return memory;
}

// What a `$ref` points to, or the thing itself.
static json_t *resolve(json_t *thing)
{
    const char *reference = json_string_value(json_object_get(thing, "$ref"));
    if (!reference)
        return thing;
    json_t *target = document;
    char name[128];
    for (const char *at = reference; *at && target; at += strlen(name)) {
        at += strspn(at, "#/");
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "/"), at);
        target = json_object_get(target, name);
    }
    if (!target)
        support_fail("the document has no %s", reference);
    return target;
}

static void load_headers(struct response *response, json_t *headers)
{
    const char *name;
    json_t *header;
    response->headers = need(json_object_size(headers), sizeof *response->headers);
    json_object_foreach(headers, name, header)
    {
        header = resolve(header);
        response->headers[response->header_count++] =
            (struct header){name, json_is_true(json_object_get(header, "required")),
                            schemas_compile(schemas, json_object_get(header, "schema"))};
    }
}

static void load_contents(struct response *response, json_t *contents)
{
    const char *type;
    json_t *content;
    response->contents = need(json_object_size(contents), sizeof *response->contents);
    json_object_foreach(contents, type, content)
    {
        response->contents[response->content_count++] =
            (struct content){type, schemas_compile(schemas, json_object_get(content, "schema"))};
    }
}

static void load_responses(struct operation *operation, json_t *responses)
{
    const char *status;
    json_t *response;
    operation->responses = need(json_object_size(responses), sizeof *operation->responses);
    json_object_foreach(responses, status, response)
    {
        struct response *to = &operation->responses[operation->response_count++];
        response = resolve(response);
        to->status = atoi(status);
        to->description = json_string_value(json_object_get(response, "description"));
        load_headers(to, json_object_get(response, "headers"));
        load_contents(to, json_object_get(response, "content"));
    }
}

static void load_operations(const char *path, json_t *item)
{
    const char *method;
    json_t *operation;
    json_object_foreach(item, method, operation)
    {
        if (!json_object_get(operation, "responses"))
            continue; // parameters of all operations
        operations = realloc(operations, (operation_count + 1) * sizeof *operations);
        if (!operations)
            support_fail("no memory for the document");
        operations[operation_count] = (struct operation){.method = method, .path = path};
        load_responses(&operations[operation_count++], json_object_get(operation, "responses"));
    }
}

static void load(void)
{
    size_t size;
    json_error_t error;
    char *text = scratch_read(HOLDFAST_DOCUMENT, &size);
    document = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    free(text);
    if (!document)
        support_fail(HOLDFAST_DOCUMENT ": %s", error.text);
    schemas = schemas_new(document);
    const char *path;
    json_t *item;
    json_object_foreach(json_object_get(document, "paths"), path, item)
    {
        load_operations(path, item);
    }
}

void document_load(void)
{
    pthread_once(&loaded, load);
}

// Path and query of a target that names the host too, as one for a proxy does.
static const char *without_host(const char *target)
{
    const char *host = strncmp(target, "http://", 7) == 0 ? target + 7 : NULL;
    return host ? host + strcspn(host, "/") : target;
}

// Segment by segment, before anything is decoded, as the service does it.
static bool path_matches(const char *path, const char *target, size_t size)
{
    size_t at = 0;
    while (*path && at < size) {
        size_t segment = strcspn(path + 1, "/") + 1;
        size_t given = at + 1;
        while (given < size && target[given] != '/')
            given++;
        if (target[at] != '/')
            return false;
        if (path[1] != '{' && (segment != given - at || strncmp(path, target + at, segment) != 0))
            return false;
        path += segment;
        at = given;
    }
    return !*path && at == size;
}

// Methods are written in lower case in the document, and matter by case in requests.
static bool method_matches(const char *method, const char *given)
{
    while (*method && toupper((unsigned char)*method) == *given)
        method++, given++;
    return !*method && !*given;
}

static const struct operation *find_operation(const char *method, const char *target)
{
    target = without_host(target);
    size_t size = strcspn(target, "?");
    for (size_t i = 0; i < operation_count; i++)
        if (method_matches(operations[i].method, method) && path_matches(operations[i].path, target, size))
            return &operations[i];
    return NULL;
}

// HEAD is answered wherever GET is, and described apart where it is of use.
static const struct operation *operation_of(const char *method, const char *target)
{
    const struct operation *operation = find_operation(method, target);
    return operation || strcmp(method, "HEAD") != 0 ? operation : find_operation("GET", target);
}

// `default` is for what holds for every request, as its description says.
static bool may_be_default(int status)
{
    return status == 415 || status == 431 || status == 501;
}

static const struct response *response_of(const struct operation *operation, int status)
{
    const struct response *other = NULL;
    for (size_t i = 0; i < operation->response_count; i++) {
        if (operation->responses[i].status == status)
            return &operation->responses[i];
        if (!operation->responses[i].status && may_be_default(status))
            other = &operation->responses[i];
    }
    return other;
}

__attribute__((format(printf, 1, 2))) static const char *say(const char *format, ...)
{
    static _Thread_local char text[1200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return text;
}

static bool name_matches(const char *name, const char *given)
{
    size_t size = strlen(name);
    return size && name[size - 1] == '*' ? strncasecmp(name, given, size - 1) == 0
                                         : strcasecmp(name, given) == 0;
}

// What HTTP itself and browsers want of a reply, whatever the operation.
static bool is_of_every_reply(const char *name)
{
    static const char *const names[] = {"Access-Control-*",
                                        "Connection",
                                        "Content-Security-Policy",
                                        "Cross-Origin-*",
                                        "Referrer-Policy",
                                        "X-Content-Type-Options",
                                        "Content-Length",
                                        "Content-Type",
                                        "Date",
                                        "Vary"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (name_matches(names[i], name))
            return true;
    return false;
}

// That a call waited is said with whatever it ended in.
static bool is_of_refusals(const char *name)
{
    return strcasecmp(name, "Preference-Applied") == 0;
}

static const struct header *header_of(const struct response *response, const char *name)
{
    for (size_t i = 0; i < response->header_count; i++)
        if (name_matches(response->headers[i].name, name))
            return &response->headers[i];
    return NULL;
}

static const char *header_fault(const struct response *response, const struct answer *answer)
{
    struct schema_fault fault;
    for (size_t i = 0; i < response->header_count; i++)
        if (response->headers[i].required && !answer_header(answer, response->headers[i].name))
            return say("there is no header %s", response->headers[i].name);
    for (int i = 0; i < answer->header_count; i++) {
        const char *name = answer->headers[i].name;
        const struct header *header = header_of(response, name);
        if (!header && !is_of_every_reply(name) && !(answer->status >= 400 && is_of_refusals(name)))
            return say("the document lacks the header %s", name);
        if (header && !schema_accepts_text(header->schema, answer->headers[i].value, &fault))
            return say("the header %s: %s", name, fault.what);
    }
    return NULL;
}

static const struct content *content_of(const struct response *response, const char *type)
{
    size_t size = strcspn(type, "; ");
    const struct content *any = NULL;
    for (size_t i = 0; i < response->content_count; i++) {
        const struct content *content = &response->contents[i];
        if (strlen(content->type) == size && strncasecmp(content->type, type, size) == 0)
            return content;
        if (strcmp(content->type, "*/*") == 0)
            any = content;
    }
    return any;
}

// A stored value within may be JSON that jansson does not read: a member twice, a number beyond a double,
// half a surrogate pair. Anything else that it does not read is none.
static const char *unread_fault(const struct answer *answer)
{
    json_error_t error;
    json_t *value = json_loadb((const char *)answer->body.data, answer->body.size,
                               JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (value) {
        json_decref(value);
        return NULL;
    }
    enum json_error_code code = json_error_code(&error);
    if (code == json_error_numeric_overflow || strstr(error.text, "\\u"))
        return NULL;
    return say("the body is no JSON: %s", error.text);
}

// A refusal is described with the kinds of problem that it may be.
static const char *kind_fault(const struct response *response, const struct answer *answer)
{
    char kind[64];
    snprintf(kind, sizeof kind, "`%s`", answer_kind(answer));
    if (answer->status < 400 || answer->head_request || strstr(response->description, kind))
        return NULL;
    return say("the document does not name the kind %s", answer_kind(answer));
}

static const char *body_fault(const struct response *response, const struct answer *answer)
{
    struct schema_fault fault;
    const char *type = answer_header(answer, "Content-Type");
    if (answer->head_request || !response->content_count)
        return answer->body.size ? say("the document lacks a body") : NULL;
    const struct content *content = type ? content_of(response, type) : NULL;
    if (!content)
        return say("the document lacks the content type %s", type ? type : "(none)");
    if (strcmp(content->type, "*/*") == 0 || !strstr(content->type, "json"))
        return NULL;
    if (!answer->json)
        return unread_fault(answer);
    if (!schema_accepts(content->schema, answer->json, &fault))
        return say("the body%s: %s", fault.where, fault.what);
    return NULL;
}

const char *document_fault(const char *method, const char *target, const struct answer *answer)
{
    document_load();
    const struct operation *operation = operation_of(method, target);
    if (!operation)
        return answer->status >= 400 || strcmp(method, "OPTIONS") == 0
                   ? NULL
                   : say("the document lacks the operation");
    const struct response *response = response_of(operation, answer->status);
    if (!response)
        return say("%s %s: the document lacks the status %d", operation->method, operation->path,
                   answer->status);
    const char *fault = header_fault(response, answer);
    if (!fault)
        fault = kind_fault(response, answer);
    return fault ? fault : body_fault(response, answer);
}

void document_check(const char *method, const char *target, const struct answer *answer)
{
    const char *fault = document_fault(method, target, answer);
    if (fault)
        support_fail("%s %.300s is not as the document has it: %s: %.2000s", method, target, fault,
                     answer_describe(answer));
}
