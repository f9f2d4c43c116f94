// Reading the members that many JSON requests share.
#include "handlers/json_input.h"

#include "base/duration.h"
#include "base/path.h"
#include "base/text.h"
#include "base/timestamp.h"

static struct bytes string_bytes(const json_t *string)
{
    return bytes_make(json_string_value(string), json_string_length(string));
}

bool input_duration(struct request *request, json_t *object, const char *member, struct value *us)
{
    json_t *given = json_object_get(object, member);
    int64_t n;
    *us = value_null();
    if (!given || json_is_null(given))
        return true;
    if (!json_is_string(given) || !duration_parse(string_bytes(given), &n)) {
        reply_invalid(request, member,
                      "a duration is an integer above 0 and a unit (ms s m h d), at most 3650d");
        return false;
    }
    *us = value_number(n);
    return true;
}

bool input_time(struct request *request, json_t *object, const char *member, struct value *us)
{
    json_t *given = json_object_get(object, member);
    int64_t n;
    *us = value_null();
    if (!given || json_is_null(given))
        return true;
    if (!json_is_string(given) || !timestamp_parse(string_bytes(given), &n)) {
        reply_invalid(request, member, "not an RFC 3339 time");
        return false;
    }
    *us = value_number(n);
    return true;
}

bool input_text(struct request *request, json_t *object, const char *member, bool required,
                struct bytes *text)
{
    json_t *given = json_object_get(object, member);
    *text = (struct bytes){0};
    if (!given && !required)
        return true;
    if (!json_is_string(given)) {
        reply_invalid(request, member, given ? "a string is wanted" : "the member is missing");
        return false;
    }
    *text = string_bytes(given);
    return true;
}

bool input_bytes(struct request *request, json_t *object, const char *member, const char *member_base64,
                 bool required, struct bytes *bytes)
{
    json_t *plain = json_object_get(object, member);
    json_t *encoded = json_object_get(object, member_base64);
    *bytes = (struct bytes){0};
    if ((plain && encoded) || (required && !plain && !encoded)) {
        reply_invalid(request, member, "give either %s or %s", member, member_base64);
        return false;
    }
    if (plain)
        return input_text(request, object, member, true, bytes);
    if (!encoded)
        return true;
    if (!json_is_string(encoded) || !text_base64_decode(&request->arena, string_bytes(encoded), bytes)) {
        reply_invalid(request, member_base64, "not base64");
        return false;
    }
    return true;
}

void reply_too_many_owners(struct request *request, const char *parameter)
{
    reply_over_limit(request, PROBLEM_TOO_LARGE, parameter, PATH_MAX_OWNERS,
                     "a branch has at most 64 owners");
}

void reply_path_too_long(struct request *request, const char *parameter)
{
    reply_over_limit(request, PROBLEM_TOO_LARGE, parameter, PATH_MAX_STORED,
                     "the key with its branch is longer than 1024 bytes as stored (an owner costs 3 bytes "
                     "beside its own)");
}

static bool read_owner(struct request *request, json_t *given, const char *member, struct bytes *owner)
{
    json_t *encoded = json_object_get(given, "base64");
    if (json_is_string(given)) {
        *owner = string_bytes(given);
        return true;
    }
    if (json_object_size(given) == 1 && json_is_string(encoded) &&
        text_base64_decode(&request->arena, string_bytes(encoded), owner))
        return true;
    reply_invalid(request, member, "an owner is a string or {\"base64\": …}");
    return false;
}

bool input_owners(struct request *request, json_t *object, const char *member, struct bytes *owners,
                  size_t *count)
{
    json_t *given = json_object_get(object, member);
    *count = 0;
    if (!given || json_is_null(given))
        return true;
    if (!json_is_array(given)) {
        reply_invalid(request, member, "a branch is an array of owners");
        return false;
    }
    if (json_array_size(given) > PATH_MAX_OWNERS) {
        reply_too_many_owners(request, member);
        return false;
    }
    for (size_t i = 0; i < json_array_size(given); i++)
        if (!read_owner(request, json_array_get(given, i), member, &owners[(*count)++]))
            return false;
    return true;
}

bool input_path(struct request *request, const struct bytes *owners, size_t count, struct bytes key,
                struct bytes *path)
{
    switch (path_encode(&request->arena, owners, count, key, path)) {
    case PATH_OK:
        return true;
    case PATH_EMPTY:
        reply_invalid(request, key.size ? "under" : "key", "a key or owner has at least one byte");
        return false;
    case PATH_TOO_LONG:
        break;
    }
    reply_path_too_long(request, "key");
    return false;
}
