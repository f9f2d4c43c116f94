// Lines of dumps: what is made of one is a JSON object or a path, and the value in it is the line's.
#include "json_values.h"

#include "base/json_member.h"
#include "base/json_text.h"
#include "base/text.h"
#include "client/load_lines.h"

enum { REQUEST_DEPTH = 64, AROUND = 2 }; // what the service takes, and what lies around an operation

// The last segment of the path is the name, however many bytes of it were escaped.
static void check_name(struct load_lines *lines, struct bytes line)
{
    struct arena arena = {0};
    struct buffer path = {0};
    struct bytes configuration, text, name, decoded;
    if (load_line_name(lines, line, &path, &configuration)) {
        const uint8_t *slash = memrchr(path.data, '/', path.size);
        struct bytes last = bytes_make(slash + 1, path.size - (size_t)(slash + 1 - path.data));
        must(path.size > 4 && memcmp(path.data, "/v1/", 4) == 0 &&
             text_percent_decode(&arena, last, &decoded));
        must(json_member(line, "name", &text) && json_string_decode(&arena, text, &name));
        must(bytes_equal(name, decoded));
        must(configuration.data > line.data &&
             configuration.data + configuration.size < line.data + line.size);
        for (size_t i = 0; i < last.size; i++)
            must(last.data[i] > ' ' && last.data[i] < 0x7f && !strchr("?#&", last.data[i]));
    } else {
        must(path.size == 0);
    }
    buffer_free(&path);
    arena_free(&arena);
}

// The value or text that the operation has, decoded when it is base64.
static bool content(struct arena *arena, struct bytes operation, const char *name, struct bytes *value)
{
    struct bytes written, text;
    if (json_member(operation, "base64", &written))
        return json_string_decode(arena, written, &text) && text_base64_decode(arena, text, value);
    return json_member(operation, name, value);
}

// A line with two values is sent with both, for the service to refuse.
static bool has_one_value(struct bytes line)
{
    static const char name[] = "\"value\"";
    const uint8_t *first = memmem(line.data, line.size, name, sizeof name - 1);
    return first && !memmem(first + 1, line.size - (size_t)(first + 1 - line.data), name, sizeof name - 1);
}

static void check_entry(const struct load_lines *lines, struct bytes line)
{
    struct arena arena = {0};
    struct buffer json = {0};
    struct bytes before, after, other;
    size_t values = 0;
    buffer_add_text(&json, "[");
    enum line_kind kind = load_line_operation(lines, line, &json, &values);
    must(kind == LINE_ENTRY || json.size == 1);
    struct bytes operation = bytes_make(json.data + 1, json.size - 1);
    if (kind == LINE_ENTRY) {
        must(json_check(operation, JSON_STORED_DEPTH + 2) == JSON_VALID &&
             json_member(operation, "bucket", &after));
        must(json_member(operation, "op", &after) && bytes_is(after, "\"put\""));
        bool given = json_member(line, "base64", &other) || json_member(line, "text", &other);
        if (!given && has_one_value(line) && json_member(line, "value", &before) &&
            !memmem(line.data, line.size, "\\", 1))
            must(content(&arena, operation, "value", &after) && bytes_equal(before, after));
        if (json_member(operation, "value", &after))
            must(json_check(after, REQUEST_DEPTH - AROUND) == JSON_VALID &&
                 json_count_values(after) <= values);
    }
    buffer_free(&json);
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct load_lines lines = {0};
    struct bytes rest = bytes_make(data, size);
    while (rest.size) {
        struct bytes line = take_text(&rest);
        enum line_kind kind = load_line_kind(line);
        if (kind == LINE_NAME)
            check_name(&lines, line);
        else if (kind == LINE_ENTRY)
            check_entry(&lines, line);
        must(kind == LINE_BROKEN || json_check(line, JSON_MAX_DEPTH) == JSON_VALID);
    }
    arena_free(&lines.arena);
    return 0;
}
