// Replies to the client, as any server may give them: what is taken of one lies in it, and what is made of it
// is JSON of which every byte of the value can be had again.
#include "json_values.h"

#include "base/json_member.h"
#include "base/json_text.h"
#include "base/text.h"
#include "client/answer.h"
#include "client/arguments.h"
#include "client/entry_show.h"
#include "client/pages.h"

static void check_head(const struct reply *reply)
{
    static const char *const names[] = {"etag", "content-type", "holdfast-expires-at", "a", ""};
    const uint8_t *head = reply->head.data;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct bytes value;
        if (!reply_field(reply, names[i], &value))
            continue;
        must(value.data > head && value.data + value.size <= head + reply->head.size);
        must(!value.size || !memchr(value.data, '\n', value.size));
        must(text_trim(value).size == value.size);
    }
    struct bytes version = reply_version(reply);
    must(!version.size || (version.data > head && version.data + version.size <= head + reply->head.size));
}

static void check_page(const struct reply *reply)
{
    struct arena arena = {0};
    struct page page;
    struct bytes item;
    struct bytes body = buffer_view(&reply->body);
    if (page_read(reply, "entries", &arena, &page))
        while (json_array_next(&page.items, &item))
            must(item.data > body.data && item.data + item.size < body.data + body.size &&
                 json_check(item, JSON_MAX_DEPTH) == JSON_VALID);
    arena_free(&arena);
}

static void check_problem(const struct reply *reply)
{
    struct buffer line = {0};
    struct arguments plain = {0}, json = {.json = true};
    answer_describe(&plain, reply, &line);
    must(!text_has_control(buffer_view(&line)) && text_is_utf8(buffer_view(&line)));
    buffer_clear(&line);
    answer_describe(&json, reply, &line);
    must(line.data[0] == 'h' || json_check(buffer_view(&line), JSON_STORED_DEPTH) == JSON_VALID);
    buffer_free(&line);
    int code = answer_code(reply);
    must(code >= 0 && code < 256);
}

static struct bytes shown_value(struct arena *arena, struct bytes line)
{
    struct bytes value = {0}, text = {0};
    if (json_member(line, "value", &value))
        return value;
    if (json_member(line, "text", &text))
        must(json_string_decode(arena, text, &value));
    else
        must(json_member(line, "base64", &text) && json_string_decode(arena, text, &text) &&
             text_base64_decode(arena, text, &value));
    return value;
}

static void check_entry(const struct reply *reply)
{
    struct arena arena = {0};
    struct buffer line = {0};
    struct place place = {.bucket = buffer_view(&reply->head),
                          .key = buffer_view(&reply->body),
                          .owners = {buffer_view(&reply->head), buffer_view(&reply->body)},
                          .owner_count = 2};
    entry_show(&line, &place, reply);
    struct bytes text = bytes_make(line.data, line.size - 1);
    must(line.data[line.size - 1] == '\n' && !memchr(text.data, '\n', text.size));
    must(json_check(text, JSON_STORED_DEPTH + 1) == JSON_VALID);
    must(bytes_equal(shown_value(&arena, text), buffer_view(&reply->body)));
    buffer_free(&line);
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int statuses[] = {200, 201, 304, 400, 404, 409, 412, 429, 503, 599};
    struct bytes body = bytes_make(data, size);
    struct bytes head = take_text(&body);
    struct reply reply = {.status = statuses[size % 10]};
    buffer_add_bytes(&reply.head, head);
    buffer_add_bytes(&reply.body, body);
    check_head(&reply);
    check_page(&reply);
    check_problem(&reply);
    check_entry(&reply);
    reply_free(&reply);
    return 0;
}
