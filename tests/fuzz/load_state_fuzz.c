// The state of a load: any text is refused or says an offset and a hash, and what is kept is read back.
#include "json_values.h"

#include "base/arena.h"
#include "client/load_state.h"

static const char *take(struct load_state *state, const char *urls, const void *text, size_t size)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, size, "r");
    must(file);
    *state = (struct load_state){.urls = urls};
    const char *wrong = load_state_take(state, file);
    fclose(file);
    return wrong;
}

static void check_hostile(const char *urls, struct bytes text)
{
    struct load_state state;
    if (take(&state, urls, text.data, text.size)) {
        must(state.offset == 0);
        return;
    }
    must(state.offset >= 0 && strspn(state.hash, "0123456789abcdef") == 2 * LOAD_STATE_HASH);
    must(strlen(state.hash) == 2 * LOAD_STATE_HASH);
}

static void check_kept(const char *urls, struct bytes read)
{
    struct load_reach reach;
    struct load_state state = {.urls = urls}, back;
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    load_reach_begin(&reach);
    load_reach_add(&reach, read.data, read.size);
    must(file && load_state_put(&state, &reach, file) && fclose(file) == 0);
    must(!take(&back, urls, text, size) && back.offset == (int64_t)read.size &&
         load_state_fits(&back, &reach));
    load_reach_add(&reach, "x", 1);
    must(!load_state_fits(&back, &reach));
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct bytes text = bytes_make(data, size);
    const char *urls = (const char *)arena_copy(&arena, take_text(&text)).data;
    if (!strchr(urls, '\n') && text.size) { // no address has a line end
        check_hostile(urls, text);
        check_kept(urls, text);
    }
    arena_free(&arena);
    return 0;
}
