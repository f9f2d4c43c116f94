// Preconditions: what is accepted is a star or tags that lie in the text, and matches each of its own tags.
#include "fuzz.h"

#include "http/conditions.h"

static void check(struct arena *arena, struct bytes text, bool strong)
{
    struct condition condition = {0};
    if (!condition_parse(arena, text, strong, &condition))
        return;
    must(condition.given && condition.count >= 0);
    for (int i = 0; i < condition.count; i++) {
        struct bytes tag = condition.tags[i];
        must(tag.data >= text.data && tag.data + tag.size <= text.data + text.size);
        must(!tag.size || !memchr(tag.data, '"', tag.size));
        must(condition_matches(&condition, tag));
    }
    must(condition_matches(&condition, bytes_of("\"")) == condition.any);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    check(&arena, bytes_make(data, size), true);
    check(&arena, bytes_make(data, size), false);
    arena_free(&arena);
    return 0;
}
