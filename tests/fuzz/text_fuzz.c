// The small readers of text against slow ones that look at one byte, or one character, after the other.
#include "fuzz.h"

#include "base/arena.h"
#include "base/text.h"
#include "store/refusal.h"

// The next character, as the table of the Unicode standard has it (3.9, D92); -1 for what is none.
static int32_t take_character(struct bytes *text)
{
    static const int32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    uint8_t lead = text->data[0];
    size_t size = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
    int32_t character = size == 1 ? lead : lead & (0x7f >> size);
    if (!size || size > text->size)
        return -1;
    for (size_t i = 1; i < size; i++) {
        if (text->data[i] >> 6 != 2)
            return -1;
        character = character << 6 | (text->data[i] & 0x3f);
    }
    *text = bytes_make(text->data + size, text->size - size);
    bool surrogate = character >= 0xd800 && character <= 0xdfff;
    return character < lowest[size] || character > 0x10ffff || surrogate ? -1 : character;
}

static void check_characters(struct bytes text)
{
    bool control = false, good = true;
    for (struct bytes rest = text; rest.size && good;) {
        int32_t c = take_character(&rest);
        good = c >= 0;
        control = control || (c >= 0 && c < 0x20) || (c >= 0x7f && c <= 0x9f);
    }
    must(text_is_utf8(text) == good);
    must(!good || text_has_control(text) == control);
}

static void check_token(struct bytes text)
{
    static const char allowed[] =
        "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    bool token = text.size > 0;
    for (size_t i = 0; i < text.size; i++)
        token = token && memchr(allowed, text.data[i], sizeof allowed - 1);
    must(text_is_token(text) == token);
}

static void check_trimmed(struct bytes text)
{
    struct bytes trimmed = text_trim(text);
    must(bytes_equal(text_trim(trimmed), trimmed));
    must(trimmed.data >= text.data && trimmed.data + trimmed.size <= text.data + text.size);
    for (const uint8_t *at = text.data; at < text.data + text.size; at++)
        must((at >= trimmed.data && at < trimmed.data + trimmed.size) || *at == ' ' || *at == '\t');
}

static void check_lower(struct arena *arena, struct bytes text)
{
    char *lower = (char *)(uintptr_t)arena_copy(arena, text).data;
    for (size_t i = 0; i < text.size; i++)
        lower[i] = lower[i] >= 'A' && lower[i] <= 'Z' ? (char)(lower[i] + 32) : lower[i];
    must(text_equals_lower(text, lower) == (strlen(lower) == text.size));
    must(!text_equals_lower(text, arena_printf(arena, "%sx", lower)));
}

static void check_flat(struct arena *arena, struct bytes text)
{
    char *flat = (char *)(uintptr_t)arena_copy(arena, text).data;
    size_t size = strlen(flat);
    refusal_flatten(flat, '|');
    must(strlen(flat) <= size);
    for (const char *at = flat; *at; at++)
        must((uint8_t)*at >= 0x20);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct bytes text = bytes_make(data, size);
    check_characters(text);
    check_token(text);
    check_trimmed(text);
    check_lower(&arena, text);
    check_flat(&arena, text);
    arena_free(&arena);
    return 0;
}
