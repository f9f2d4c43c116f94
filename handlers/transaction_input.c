// A row of the table for each operation: its members, and what is read of them.
#include "handlers/transaction_input.h"

#include "base/json_index.h"
#include "base/json_member.h"
#include "base/json_number.h"
#include "base/json_text.h"
#include "base/text.h"
#include "handlers/text_input.h"

#include <math.h>

// --- conditions
// ------------------------------------------------------------------------------------------------------

// A version that no entry has: what is no version of ours matches nothing.
enum { NO_VERSION = 0 };

static bool read_version(struct item_input *item, const char *name, struct transaction_item *out)
{
    struct bytes written, text;
    if (!item_member(item, name, &written))
        return true;
    if (!json_string_decode(&item->request->arena, written, &text))
        return item_invalid(item, name, "a version is a string");
    out->conditions |= CONDITION_IF_VERSION;
    if (!version_parse(text, &out->if_version))
        out->if_version = NO_VERSION;
    return true;
}

static bool read_absent(struct item_input *item, const char *name, struct transaction_item *out)
{
    bool absent;
    if (!item_flag(item, name, &absent))
        return false;
    if (absent)
        out->conditions |= CONDITION_ABSENT;
    return true;
}

static bool read_conditions(struct item_input *item, struct transaction_item *out)
{
    if (!read_version(item, "if_version", out) || !read_absent(item, "if_absent", out))
        return false;
    return out->conditions != (CONDITION_IF_VERSION | CONDITION_ABSENT) ||
           item_invalid(item, "if_absent", "give one of if_version and if_absent");
}

// --- values
// ----------------------------------------------------------------------------------------------------------

static bool read_content_type(struct item_input *item, const char *standard, struct value *content_type)
{
    struct bytes type;
    bool given;
    if (!item_string(item, "content_type", &type, &given))
        return false;
    if (!given) {
        *content_type = standard ? value_bytes(bytes_of(standard)) : value_null();
        return true;
    }
    if (type.size > REQUEST_CONTENT_TYPE_BYTES) {
        reply_item_problem(item->request, item->place,
                           (struct problem){.kind = PROBLEM_TOO_LARGE,
                                            .detail = "a content type is at most 256 bytes",
                                            .parameter = bytes_of("content_type"),
                                            .limit = REQUEST_CONTENT_TYPE_BYTES});
        return false;
    }
    for (size_t i = 0; i < type.size; i++)
        if (type.data[i] < 0x20 || type.data[i] >= 0x7f)
            return item_invalid(item, "content_type", "a byte that is not ASCII, or a control character");
    if (text_trim(type).size != type.size || !type.size)
        return item_invalid(item, "content_type", "it is empty, or has space around it");
    *content_type = value_bytes(type);
    return true;
}

static bool add_metadata(struct item_input *item, struct buffer *lines, struct bytes name, struct bytes value)
{
    for (size_t i = 0; i < value.size; i++)
        if (value.data[i] < 0x20 || value.data[i] == 0x7f)
            return item_invalid(item, "metadata", "a control character");
    if (!text_is_token(name) || !value.size || text_trim(value).size != value.size)
        return item_invalid(
            item, "metadata",
            "a name is what a header's may be; a value is not empty and has no space around it");
    for (size_t i = 0; i < name.size; i++)
        if (name.data[i] >= 'A' && name.data[i] <= 'Z')
            return item_invalid(item, "metadata", "names are in lower case");
    buffer_add_bytes(lines, name);
    buffer_add_char(lines, ':');
    buffer_add_bytes(lines, value);
    buffer_add_char(lines, '\n');
    return true;
}

static bool metadata_too_large(struct item_input *item, int64_t limit)
{
    reply_item_problem(
        item->request, item->place,
        (struct problem){.kind = PROBLEM_TOO_LARGE,
                         .detail = "metadata is at most 16 names, and 2048 bytes of names and values",
                         .parameter = bytes_of("metadata"),
                         .limit = limit});
    return false;
}

static bool collect_metadata(struct item_input *item, const struct json_index *index, struct buffer *lines)
{
    const struct json_index_object *top = json_index_top(index);
    const struct json_index_member *members = json_index_members(index, top);
    struct bytes value;
    if (top->count > REQUEST_METADATA_COUNT)
        return metadata_too_large(item, REQUEST_METADATA_COUNT);
    for (uint32_t i = 0; i < top->count; i++) {
        if (!json_string_decode(&item->request->arena, json_index_value(index, &members[i]), &value))
            return item_invalid(item, "metadata", "an object of strings is wanted");
        if (!add_metadata(item, lines, bytes_make(members[i].name, members[i].name_size), value))
            return false;
    }
    // Each line has a colon and an end beside them.
    return lines->size <= REQUEST_METADATA_BYTES + 2 * (size_t)top->count ||
           metadata_too_large(item, REQUEST_METADATA_BYTES);
}

static bool read_metadata(struct item_input *item, struct value *metadata)
{
    struct bytes written;
    struct json_index index = {0};
    struct buffer lines = {0};
    *metadata = value_null();
    if (!item_member(item, "metadata", &written) || bytes_is(written, "null"))
        return true;
    bool good = json_index_build(&index, written, JSON_INDEX_TOP) == JSON_INDEXED && json_index_top(&index);
    if (good)
        good = collect_metadata(item, &index, &lines);
    else
        item_invalid(item, "metadata", "an object of strings is wanted");
    if (good && lines.size)
        *metadata = value_bytes(arena_copy(&item->request->arena, buffer_view(&lines)));
    json_index_free(&index);
    buffer_free(&lines);
    return good;
}

static bool read_content(struct item_input *item, struct transaction_item *out)
{
    struct bytes json, text, base64;
    bool given;
    bool has_json = item_member(item, "value", &json);
    bool has_text = item_member(item, "text", &text);
    bool has_base64 = item_member(item, "base64", &base64);
    if (has_json + has_text + has_base64 != 1)
        return item_invalid(item, "value", "give one of value, text and base64");
    if (has_json)
        out->content.value = json;
    else if (has_base64 && !item_base64(item, "base64", &out->content.value))
        return false;
    else if (has_text && !item_string(item, "text", &out->content.value, &given))
        return false;
    if (has_text && !given)
        return item_invalid(item, "text", "a string is wanted");
    if (out->content.value.size > VALUE_LIMIT) {
        reply_item_problem(item->request, item->place,
                           (struct problem){.kind = PROBLEM_TOO_LARGE,
                                            .detail = "the value is larger than any bucket takes",
                                            .limit = VALUE_LIMIT});
        return false;
    }
    const char *standard = has_json ? "application/json" : has_text ? "text/plain; charset=utf-8" : NULL;
    return read_content_type(item, standard, &out->content.content_type) &&
           read_metadata(item, &out->content.metadata);
}

// --- operations
// ------------------------------------------------------------------------------------------------------

static bool read_put(struct item_input *item, struct transaction_item *out)
{
    return read_content(item, out) && item_expiry(item, &out->expiry);
}

static bool read_nothing(struct item_input *item, struct transaction_item *out)
{
    (void)item;
    (void)out;
    return true;
}

static bool read_patch(struct item_input *item, struct transaction_item *out)
{
    if (!item_member(item, "value", &out->patch))
        return item_invalid(item, "value", "value is the merge patch");
    return item_flag(item, "upsert", &out->upserts) && item_expiry(item, &out->expiry);
}

static bool is_number(struct bytes written)
{
    return written.data[0] == '-' || (written.data[0] >= '0' && written.data[0] <= '9');
}

static bool read_summand(struct item_input *item, struct bytes written, struct transaction_item *out)
{
    int64_t n;
    if (!is_number(written))
        return item_invalid(item, "by", "by is a number");
    if (json_number_is_plain_integer(written) && json_number_int64(written, &n)) {
        out->integer = value_number(n);
        out->real = value_real((double)n);
        return true;
    }
    double real = json_number_as_double(written);
    if (json_number_is_plain_integer(written) || !isfinite(real)) {
        reply_item_problem(item->request, item->place,
                           (struct problem){.kind = PROBLEM_OVERFLOW,
                                            .detail = "by is a number that neither 64 bits nor a double hold",
                                            .parameter = bytes_of("by")});
        return false;
    }
    out->integer = value_null();
    out->real = value_real(real);
    return true;
}

static bool read_add(struct item_input *item, struct transaction_item *out)
{
    struct bytes written;
    out->integer = value_number(1);
    out->real = value_real(1);
    return item_expiry(item, &out->expiry) &&
           (!item_member(item, "by", &written) || read_summand(item, written, out));
}

static bool read_expiry(struct item_input *item, struct transaction_item *out)
{
    if (!item_expiry(item, &out->expiry))
        return false;
    return expiry_given(&out->expiry) || item_invalid(item, "ttl", "give one of ttl, expires_at and persist");
}

#define PLACE_MEMBERS  "bucket", "key", "key_base64", "under"
#define EXPIRY_MEMBERS "ttl", "expires_at", "persist"

static const struct operation_row {
    const char *name;
    enum transaction_op op;
    bool (*read)(struct item_input *item, struct transaction_item *out);
    const char *members[20];
} operation_rows[] = {
    {"put",
     TRANSACT_PUT,
     read_put,
     {"op", PLACE_MEMBERS, "value", "text", "base64", "content_type", "metadata", EXPIRY_MEMBERS,
      "if_version", "if_absent"}},
    {"delete", TRANSACT_DELETE, read_nothing, {"op", PLACE_MEMBERS, "if_version"}},
    {"take", TRANSACT_TAKE, read_nothing, {"op", PLACE_MEMBERS, "if_version"}},
    {"patch",
     TRANSACT_PATCH,
     read_patch,
     {"op", PLACE_MEMBERS, "value", "upsert", EXPIRY_MEMBERS, "if_version", "if_absent"}},
    {"add", TRANSACT_ADD, read_add, {"op", PLACE_MEMBERS, "by", EXPIRY_MEMBERS, "if_version", "if_absent"}},
    {"expiry", TRANSACT_EXPIRY, read_expiry, {"op", PLACE_MEMBERS, EXPIRY_MEMBERS, "if_version"}},
};

static const struct operation_row *find_operation(struct item_input *item, struct bytes text)
{
    struct bytes written = {0}, name = {0};
    if (json_member(text, "op", &written))
        json_string_decode(&item->request->arena, written, &name);
    for (size_t i = 0; i < sizeof operation_rows / sizeof operation_rows[0]; i++)
        if (bytes_is(name, operation_rows[i].name))
            return &operation_rows[i];
    item_invalid(item, "op", "op is put, delete, take, patch, add or expiry");
    return NULL;
}

static bool read_operation(struct request *request, size_t index, struct bytes text,
                           struct transaction_item *out)
{
    struct item_input item = {.request = request, .place = {"operations", index}};
    const struct operation_row *row = find_operation(&item, text);
    if (!row)
        return false;
    *out = (struct transaction_item){.place = item.place, .op = row->op, .patched = -1};
    bool good = item_open(&item, request, out->place, text, row->members) &&
                item_address(&item, GRANT_WRITE, &out->address) && read_conditions(&item, out) &&
                row->read(&item, out);
    item_close(&item);
    return good;
}

static bool read_check(struct request *request, size_t index, struct bytes text, struct transaction_item *out)
{
    static const char *const members[] = {PLACE_MEMBERS, "version", "absent", NULL};
    struct item_input item;
    *out = (struct transaction_item){.place = {"checks", index}, .op = TRANSACT_CHECK, .patched = -1};
    bool good = item_open(&item, request, out->place, text, members) &&
                item_address(&item, GRANT_READ, &out->address) && read_version(&item, "version", out) &&
                read_absent(&item, "absent", out);
    if (good && out->conditions != CONDITION_IF_VERSION && out->conditions != CONDITION_ABSENT)
        good = item_invalid(&item, "version", "give one of version and absent");
    item_close(&item);
    return good;
}

bool transaction_input_read(struct request *request, struct transaction_input *input)
{
    static const char *const members[] = {"checks", "operations", NULL};
    struct bytes *checks, *operations;
    if (!text_request(request, members) || !items_split(request, "checks", 0, &checks, &input->check_count) ||
        !items_split(request, "operations", input->check_count, &operations, &input->operation_count))
        return false;
    if (!input->check_count && !input->operation_count) {
        reply_invalid(request, "operations", "there is nothing to check and nothing to do");
        return false;
    }
    input->checks = arena_alloc(&request->arena, (input->check_count + 1) * sizeof *input->checks);
    input->operations =
        arena_alloc(&request->arena, (input->operation_count + 1) * sizeof *input->operations);
    for (size_t i = 0; i < input->check_count; i++)
        if (!read_check(request, i, checks[i], &input->checks[i]))
            return false;
    for (size_t i = 0; i < input->operation_count; i++)
        if (!read_operation(request, i, operations[i], &input->operations[i]))
            return false;
    return true;
}
