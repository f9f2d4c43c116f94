// Entity-tag lists (RFC 9110 section 8.8.3 and 13.1), read strictly: a list that is not one is refused, not
// guessed at.
#include "http/conditions.h"

#include "base/text.h"

static bool is_etag_char(uint8_t c)
{
    return c == 0x21 || (c >= 0x23 && c != 0x7f);
}

// Reads one entity tag at `*at`, which must begin with W/ or a quote.
static bool read_tag(struct bytes text, size_t *at, bool *weak, struct bytes *tag)
{
    *weak = text.size - *at >= 2 && text.data[*at] == 'W' && text.data[*at + 1] == '/';
    if (*weak)
        *at += 2;
    if (*at >= text.size || text.data[*at] != '"')
        return false;
    size_t start = ++*at;
    while (*at < text.size && is_etag_char(text.data[*at]))
        ++*at;
    if (*at >= text.size || text.data[*at] != '"')
        return false;
    *tag = bytes_make(text.data + start, *at - start);
    ++*at;
    return true;
}

static void skip_spaces(struct bytes text, size_t *at)
{
    while (*at < text.size && (text.data[*at] == ' ' || text.data[*at] == '\t'))
        ++*at;
}

static int count_commas(struct bytes text)
{
    int commas = 0;
    for (size_t i = 0; i < text.size; i++)
        commas += text.data[i] == ',';
    return commas;
}

bool condition_parse(struct arena *arena, struct bytes text, bool strong, struct condition *condition)
{
    *condition = (struct condition){.given = true};
    text = text_trim(text);
    if (bytes_is(text, "*")) {
        condition->any = true;
        return true;
    }
    condition->tags = arena_alloc(arena, sizeof *condition->tags * (size_t)(count_commas(text) + 1));
    size_t at = 0;
    bool need_comma = false;
    bool seen = false;
    for (;;) {
        skip_spaces(text, &at);
        if (at >= text.size)
            return seen;
        if (text.data[at] == ',') { // empty list elements are allowed to be there
            need_comma = false;
            at++;
            continue;
        }
        bool weak;
        struct bytes tag;
        if (need_comma || !read_tag(text, &at, &weak, &tag))
            return false;
        seen = true;
        need_comma = true;
        if (!weak || !strong)
            condition->tags[condition->count++] = tag;
    }
}

bool condition_matches(const struct condition *condition, struct bytes tag)
{
    if (condition->any)
        return true;
    for (int i = 0; i < condition->count; i++)
        if (bytes_equal(condition->tags[i], tag))
            return true;
    return false;
}
