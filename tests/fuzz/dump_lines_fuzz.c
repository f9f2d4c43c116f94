// Pages into dumps and back: the line of any entry is loaded again with every byte of its value, and a dump
// that broke off goes on at its last checkpoint, whatever else the file has.
#include "json_values.h"

#include "base/json_member.h"
#include "base/json_scan.h"
#include "base/json_text.h"
#include "base/text.h"
#include "client/dump_lines.h"
#include "client/load_lines.h"

// The value that a line or an operation has.
static bool value_of(struct arena *arena, struct bytes object, struct bytes *value)
{
    struct bytes text;
    if (json_member(object, "base64", &text))
        return json_string_decode(arena, text, &text) && text_base64_decode(arena, text, value);
    return json_member(object, "value", value);
}

static void check_loaded(struct bytes line, struct bytes value)
{
    struct load_lines lines = {0};
    struct arena arena = {0};
    struct buffer operation = {0};
    struct bytes loaded;
    size_t values;
    if (load_line_operation(&lines, line, &operation, &values) == LINE_ENTRY)
        must(value_of(&arena, buffer_view(&operation), &loaded) && bytes_equal(loaded, value));
    buffer_free(&operation);
    arena_free(&arena);
}

static void check_entry(struct bytes entry)
{
    struct arena arena = {0};
    struct buffer lines = {0};
    struct bytes value, dumped, other;
    bool plain = !memmem(entry.data, entry.size, "\\", 1) && !json_member(entry, "base64", &other);
    bool spliced = json_member(entry, "value", &value);
    json_t *single = understood(entry, JSON_REJECT_DUPLICATES);
    enum dump_verdict verdict = dump_line_entry(&lines, bytes_of("b\n\xff"), entry);
    must(verdict == DUMP_WRITTEN || lines.size == 0);
    if (verdict == DUMP_WRITTEN) {
        struct bytes line = bytes_make(lines.data, lines.size - 1);
        must(lines.data[lines.size - 1] == '\n' && !memchr(line.data, '\n', line.size));
        must(json_check(line, JSON_STORED_DEPTH + 1) == JSON_VALID);
        if (spliced && plain && single) {
            must(value_of(&arena, line, &dumped) && dumped.size >= value.size);
            must(memmem(dumped.data, dumped.size, value.data, value.size));
            check_loaded(line, dumped);
        }
    }
    json_decref(single);
    buffer_free(&lines);
    arena_free(&arena);
}

static void find(struct buffer *file, struct dump_checkpoint *last)
{
    FILE *stream = fmemopen(file->data, file->size, "r");
    must(stream);
    *last = (struct dump_checkpoint){0};
    dump_checkpoint_find(stream, "only", last);
    must(last->end >= 0 && (size_t)last->end <= file->size);
    must(last->end == 0 || file->data[last->end - 1] == '\n');
    fclose(stream);
}

static void check_file(struct bytes text, struct bytes bucket)
{
    struct buffer file = {0};
    struct dump_checkpoint last;
    buffer_add_bytes(&file, text);
    buffer_add_char(&file, '\n');
    find(&file, &last);
    must((last.end == 0) == !last.bucket.data);
    arena_free(&last.arena);
    dump_line_checkpoint(&file, bucket, "cursor", "only");
    size_t end = file.size;
    buffer_add_text(&file,
                    "{\"kind\":\"checkpoint\",\"bucket\":1,\"cursor\":null,\"only\":null}\n{\"kind\":\"ch");
    find(&file, &last);
    must((size_t)last.end == end && !last.of_another && bytes_is(last.cursor, "cursor"));
    must(!text_is_utf8(bucket) || bytes_equal(last.bucket, bucket));
    arena_free(&last.arena);
    buffer_free(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes text = bytes_make(data, size);
    struct bytes bucket = take_text(&text);
    struct json_scan scan = json_scan_begin(text);
    json_scan_space(&scan);
    struct bytes entry = bytes_make(scan.at, (size_t)(scan.end - scan.at));
    if (entry.size && entry.data[entry.size - 1] > ' ' &&
        json_check(entry, JSON_STORED_DEPTH + 1) == JSON_VALID)
        check_entry(entry);
    check_file(text, bucket);
    return 0;
}
