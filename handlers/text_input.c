// Members are found in the text of the request, which the JSON library never sees.
#include "handlers/text_input.h"

#include "base/json_index.h"
#include "base/json_member.h"
#include "base/json_text.h"
#include "base/text.h"

static bool is_among(struct bytes name, const char *const *names)
{
    for (; *names; names++)
        if (bytes_is(name, *names))
            return true;
    return false;
}

static bool members_known(struct request *request, const struct json_index *index, const char *const *names)
{
    const struct json_index_object *top = json_index_top(index);
    const struct json_index_member *members = json_index_members(index, top);
    for (uint32_t i = 0; i < top->count; i++) {
        struct bytes name = bytes_make(members[i].name, members[i].name_size);
        if (!is_among(name, names)) {
            reply_invalid(request, (const char *)arena_copy(&request->arena, name).data,
                          "there is no such member");
            return false;
        }
    }
    return true;
}

static bool indexed_object(struct request *request, struct json_index *index, struct bytes text,
                           enum json_index_rule rule, const char *parameter, const char *const *names)
{
    switch (json_index_build(index, text, rule)) {
    case JSON_INDEXED:
        break;
    case JSON_INDEX_DUPLICATE:
        reply_invalid(request, "body", "a member occurs twice");
        return false;
    default:
        reply_invalid(request, parameter, "the %s is not a JSON document", parameter);
        return false;
    }
    if (!json_index_top(index)) {
        reply_invalid(request, parameter, "the %s must be a JSON object", parameter);
        return false;
    }
    return members_known(request, index, names);
}

static bool check_object(struct request *request, struct bytes text, enum json_index_rule rule,
                         const char *parameter, const char *const *names)
{
    struct json_index index = {0};
    bool good = indexed_object(request, &index, text, rule, parameter, names);
    json_index_free(&index);
    return good;
}

bool text_request(struct request *request, const char *const *names)
{
    switch (json_check(request->body, REQUEST_JSON_DEPTH)) {
    case JSON_VALID:
        return check_object(request, request->body, JSON_INDEX_ALL, "body", names);
    case JSON_TOO_DEEP:
        reply_too_deep(request, REQUEST_JSON_DEPTH);
        return false;
    case JSON_MALFORMED:
        break;
    }
    reply_invalid(request, "body", "the body is not a JSON document");
    return false;
}

bool text_object(struct request *request, struct bytes object, const char *parameter,
                 const char *const *names)
{
    return check_object(request, object, JSON_INDEX_TOP, parameter, names);
}

static bool read_text(struct request *request, struct bytes written, const char *member, struct bytes *value)
{
    if (json_string_decode(&request->arena, written, value))
        return true;
    reply_invalid(request, member, "a string of whole characters is wanted");
    return false;
}

static bool read_base64(struct request *request, struct bytes written, const char *member,
                        struct bytes *value)
{
    struct bytes text;
    if (json_string_decode(&request->arena, written, &text) &&
        text_base64_decode(&request->arena, text, value))
        return true;
    reply_invalid(request, member, "not base64");
    return false;
}

bool text_value(struct request *request, const char *name, struct bytes *value, bool *as_json,
                const char **content_type)
{
    const char *text_name = arena_printf(&request->arena, "%s_text", name);
    const char *base64_name = arena_printf(&request->arena, "%s_base64", name);
    struct bytes written = {0};
    bool json = json_member(request->body, name, &written);
    bool text = json_member(request->body, text_name, &written);
    bool base64 = json_member(request->body, base64_name, &written);
    *as_json = json;
    if (json + text + base64 != 1) {
        reply_invalid(request, name, "give one of %s, %s and %s", name, text_name, base64_name);
        return false;
    }
    *content_type = json   ? "application/json"
                    : text ? "text/plain; charset=utf-8"
                           : "application/octet-stream";
    if (text)
        return read_text(request, written, text_name, value);
    if (base64)
        return read_base64(request, written, base64_name, value);
    *value = written;
    return true;
}
