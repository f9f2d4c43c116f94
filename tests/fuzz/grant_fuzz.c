// Grants: what is accepted is written in one way, which means the same, and covers no more than it says.
#include "fuzz.h"

#include "security/grant.h"

static void check_again(struct arena *arena, const struct grant *grant)
{
    struct buffer text = {0}, again_text = {0};
    struct grant again;
    const char *reason;
    grant_format(&text, grant);
    must(grant_parse(arena, buffer_view(&text), &again, &reason));
    must(again.action == grant->action && again.kind == grant->kind && again.begins == grant->begins);
    must(bytes_equal(again.name, grant->name) && bytes_equal(again.branch, grant->branch));
    grant_format(&again_text, &again);
    must(bytes_equal(buffer_view(&text), buffer_view(&again_text)));
    buffer_free(&text);
    buffer_free(&again_text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct grant grant;
    const char *reason = NULL;
    if (grant_parse(&arena, bytes_make(data, size), &grant, &reason)) {
        check_again(&arena, &grant);
        for (int kind = GRANT_BUCKETS; kind < GRANT_KINDS; kind++) {
            bool covers = grant_allows(&grant, grant.action, (enum grant_kind)kind, grant.name, grant.branch);
            must(!covers || grant.kind == GRANT_ANY_KIND || grant.kind == (enum grant_kind)kind);
            if (grant.action < GRANT_ADMIN)
                must(
                    !grant_allows(&grant, grant.action + 1, (enum grant_kind)kind, grant.name, grant.branch));
        }
    } else {
        must(reason);
    }
    arena_free(&arena);
    return 0;
}
