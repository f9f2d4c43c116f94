// Reading a reply strictly, looking into it, and the rules that every reply must keep.
#include "support/answer.h"

#include "support/failure.h"
#include "support/scratch.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

static bool is_token(const char *text)
{
    if (!*text)
        return false;
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && !strchr("!#$%&'*+-.^_`|~", *text))
            return false;
    return true;
}

static bool is_field_text(const char *text)
{
    for (; *text; text++)
        if (((unsigned char)*text < 0x20 && *text != '\t') || *text == 0x7f)
            return false;
    return true;
}

static bool parse_status(const char *line, int *status)
{
    if (strncmp(line, "HTTP/1.1 ", 9) != 0 || line[12] != ' ')
        return false;
    for (int i = 9; i < 12; i++)
        if (!isdigit((unsigned char)line[i]))
            return false;
    *status = atoi(line + 9);
    return *status >= 100 && *status <= 599;
}

static const char *parse_field(struct answer *answer, char *line)
{
    char *colon = strchr(line, ':');
    if (!colon)
        return "a header line has no colon";
    *colon = 0;
    char *value = colon + 1;
    while (*value == ' ' || *value == '\t')
        value++;
    for (char *end = value + strlen(value); end > value && (end[-1] == ' ' || end[-1] == '\t'); end--)
        end[-1] = 0;
    if (!is_token(line))
        return "a header's name is no token";
    if (!is_field_text(value))
        return "a header's value has a control byte";
    if (answer->header_count == ANSWER_MOST_HEADERS)
        return "too many headers";
    answer->headers[answer->header_count++] = (struct answer_field){line, value};
    return NULL;
}

// Cuts the text at the next CR LF; NULL when there is none.
static char *cut_line(char *text)
{
    char *end = strstr(text, "\r\n");
    if (!end)
        return NULL;
    *end = 0;
    return end + 2;
}

struct answer *answer_parse(const char *head, size_t size, const char **fault)
{
    struct answer *answer = calloc(1, sizeof *answer);
    char *copy = malloc(size + 1);
    if (!answer || !copy)
        support_fail("no memory for a reply");
    memcpy(copy, head, size);
    copy[size] = 0;
    answer->head = copy;
    *fault = strlen(copy) == size ? NULL : "the head has a NUL";
    char *line = copy;
    char *next = cut_line(line);
    if (!*fault && (!next || !parse_status(line, &answer->status)))
        *fault = "the status line is none";
    while (!*fault && next && *next) {
        line = next;
        next = cut_line(line);
        *fault = next ? parse_field(answer, line) : "a line does not end with CR LF";
    }
    if (!*fault)
        return answer;
    answer_free(answer);
    return NULL;
}

static bool is_json_type(const char *type)
{
    return type && (strncasecmp(type, "application/json", 16) == 0 ||
                    strncasecmp(type, "application/problem+json", 24) == 0);
}

void answer_set_body(struct answer *answer, char *body, size_t size)
{
    answer->body = bytes_make(body, size);
    if (size && is_json_type(answer_header(answer, "Content-Type")))
        answer->json =
            json_loadb(body, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
}

void answer_free(struct answer *answer)
{
    if (!answer)
        return;
    json_decref(answer->json);
    free((void *)(uintptr_t)answer->body.data);
    free(answer->head);
    free(answer);
}

char *answer_describe(const struct answer *answer)
{
    char *text = scratch_printf("%d", answer->status);
    for (int i = 0; i < answer->header_count; i++) {
        char *more = scratch_printf("%s | %s: %s", text, answer->headers[i].name, answer->headers[i].value);
        free(text);
        text = more;
    }
    size_t shown = answer->body.size < 1000 ? answer->body.size : 1000;
    char *whole = scratch_printf("%.3000s || %.*s", text, (int)shown, (const char *)answer->body.data);
    free(text);
    return whole;
}

_Noreturn static void fail(const struct answer *answer, const char *what)
{
    support_fail("%s: %s", what, answer_describe(answer));
}

const char *answer_header(const struct answer *answer, const char *name)
{
    const char *value = NULL;
    for (int i = 0; i < answer->header_count; i++) {
        if (strcasecmp(answer->headers[i].name, name) != 0)
            continue;
        if (value)
            fail(answer, name);
        value = answer->headers[i].value;
    }
    return value;
}

const char *answer_need(const struct answer *answer, const char *name)
{
    const char *value = answer_header(answer, name);
    if (!value)
        support_fail("there is no header %s: %s", name, answer_describe(answer));
    return value;
}

const char *answer_version(const struct answer *answer)
{
    const char *tag = answer_header(answer, "ETag");
    if (!tag)
        return NULL;
    size_t size = strlen(tag);
    if (size < 3 || tag[0] != '"' || strchr(tag + 1, '"') != tag + size - 1)
        fail(answer, "the ETag is no strong tag");
    // Cut where it stands: the header's own text keeps its quotes for whoever asks for it.
    static _Thread_local char versions[16][64];
    static _Thread_local unsigned next;
    char *version = versions[next++ % 16];
    snprintf(version, sizeof versions[0], "%.*s", (int)(size - 2), tag + 1);
    return version;
}

const char *answer_text(const struct answer *answer, const char *member)
{
    return json_string_value(json_object_get(answer->json, member));
}

const char *answer_kind(const struct answer *answer)
{
    const char *type = answer_header(answer, "Content-Type");
    const char *kind =
        type && strcmp(type, "application/problem+json") == 0 ? answer_text(answer, "kind") : NULL;
    return kind ? kind : "";
}

bool answer_is(const struct answer *answer, struct bytes body)
{
    return bytes_equal(answer->body, body);
}

// --- the rules --------------------------------------------------------------------------------------------

static const struct {
    const char *kind;
    int status;
} kinds[] = {
    {"invalid", 400},
    {"unauthorized", 401},
    {"forbidden", 403},
    {"not_found", 404},
    {"method_not_allowed", 405},
    {"kind_mismatch", 409},
    {"lease_held", 409},
    {"lease_lost", 409},
    {"busy", 409},
    {"version_conflict", 412},
    {"too_large", 413},
    {"unsupported_media", 415},
    {"type_mismatch", 422},
    {"overflow", 422},
    {"unprocessable", 422},
    {"idempotency_mismatch", 422},
    {"precondition_required", 428},
    {"too_many", 429},
    {"headers_too_large", 431},
    {"corrupt", 500},
    {"internal", 500},
    {"unsupported", 501},
    {"unavailable", 503},
    {"outcome_unknown", 503},
    {"stale", 503},
};

static bool kind_has_status(const char *kind, int status)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].kind, kind) == 0)
            return kinds[i].status == status;
    return false;
}

static void need_text(const struct answer *answer, const char *member)
{
    const char *text = answer_text(answer, member);
    if (!text || !*text)
        support_fail("the problem has no %s: %s", member, answer_describe(answer));
}

// The members that a kind of problem has beside those of all.
static void check_extras(const struct answer *answer)
{
    const char *kind = answer_kind(answer);
    // It is empty for a query parameter whose name is.
    if (strcmp(kind, "invalid") == 0 && !answer_text(answer, "parameter"))
        fail(answer, "an invalid names no parameter");
    if (strcmp(kind, "kind_mismatch") == 0)
        need_text(answer, "actual_kind");
    if (strcmp(kind, "unsupported") == 0)
        need_text(answer, "capability");
    if (strcmp(kind, "unavailable") == 0)
        answer_need(answer, "Retry-After");
    if (strcmp(kind, "too_large") == 0 && !json_is_integer(json_object_get(answer->json, "limit")))
        fail(answer, "a too_large has no limit");
    if (strcmp(kind, "version_conflict") != 0)
        return;
    json_t *current = json_object_get(answer->json, "current_version");
    const char *version = answer_version(answer);
    if (!current || (!json_is_null(current) && !json_is_string(current)))
        fail(answer, "a version_conflict has no current_version");
    if (json_is_null(current) ? version != NULL
                              : !version || strcmp(version, json_string_value(current)) != 0)
        fail(answer, "current_version and ETag differ");
}

static void check_problem(const struct answer *answer)
{
    if (strcmp(answer_need(answer, "Content-Type"), "application/problem+json") != 0)
        fail(answer, "an error is no problem document");
    if (answer->status == 405)
        answer_need(answer, "Allow");
    if (answer->head_request)
        return;
    if (!json_is_object(answer->json))
        fail(answer, "a problem is no JSON object");
    need_text(answer, "type");
    need_text(answer, "title");
    need_text(answer, "detail");
    need_text(answer, "kind");
    const char *type = answer_text(answer, "type");
    if (strncmp(type, "urn:holdfast:", 13) != 0 || strcmp(type + 13, answer_kind(answer)) != 0)
        fail(answer, "a problem's type and kind differ");
    if (json_integer_value(json_object_get(answer->json, "status")) != answer->status)
        fail(answer, "a problem's status is not the reply's");
    if (!kind_has_status(answer_kind(answer), answer->status))
        fail(answer, "a problem's kind and status do not belong together");
    check_extras(answer);
}

void answer_check(const struct answer *answer)
{
    if (!*answer_need(answer, "Holdfast-Request-Id"))
        fail(answer, "the request id is empty");
    answer_need(answer, "Date");
    bool bodiless = answer->status == 204 || answer->status == 304;
    if (bodiless && answer->body.size)
        fail(answer, "a reply without a body has one");
    if (answer->status == 204 && answer_header(answer, "Content-Length"))
        fail(answer, "a 204 has a Content-Length");
    if (answer->status >= 400)
        check_problem(answer);
}
