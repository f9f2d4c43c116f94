// Addresses of databases: one that is accepted is so too when its parts are written as key=value pairs, and
// no part that others see has a password spilled into it.
#include "fuzz.h"

#include "base/arena.h"
#include "base/buffer.h"
#include "store/reach.h"

#include <libpq-fe.h>

static void add_pair(struct buffer *pairs, const char *name, const char *value)
{
    buffer_printf(pairs, "%s%s='", pairs->size ? " " : "", name);
    for (; *value; value++) {
        if (*value == '\'' || *value == '\\')
            buffer_add_char(pairs, '\\');
        buffer_add_char(pairs, *value);
    }
    buffer_add_char(pairs, '\'');
}

static bool is_shown(const char *name)
{
    return strcmp(name, "host") == 0 || strcmp(name, "hostaddr") == 0 || strcmp(name, "dbname") == 0;
}

static void check_accepted(struct arena *arena, const char *text)
{
    struct buffer pairs = {0};
    PQconninfoOption *all = PQconninfoParse(text, NULL);
    must(all);
    for (const PQconninfoOption *option = all; option->keyword; option++) {
        if (!option->val)
            continue;
        add_pair(&pairs, option->keyword, option->val);
        if (is_shown(option->keyword) && option->val[0] != '/' && option->val[0] != '@')
            must(!strchr(option->val, '@'));
    }
    const char *again = (const char *)arena_copy(arena, buffer_view(&pairs)).data;
    must(!*again || (reach_reads(again) && reach_is_choice(again) == reach_is_choice(text)));
    PQconninfoFree(all);
    buffer_free(&pairs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    const char *text = (const char *)arena_copy(&arena, bytes_make(data, size)).data;
    bool pairs = strchr(text, '=') || strstr(text, "://");
    if (reach_reads(text) && pairs)
        check_accepted(&arena, text);
    arena_free(&arena);
    return 0;
}
