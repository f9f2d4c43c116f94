// Entity tags into versions.
#include "handlers/precondition.h"

#include "base/text.h"

bool version_parse(struct bytes tag, int64_t *version)
{
    return text_int64(tag, version) && *version > 0;
}

static struct value version_list(struct request *request, const struct condition *condition)
{
    struct buffer list = {0};
    buffer_add_char(&list, '{');
    for (int i = 0; i < condition->count; i++) {
        int64_t version;
        if (!version_parse(condition->tags[i], &version))
            continue;
        if (list.size > 1)
            buffer_add_char(&list, ',');
        buffer_add_int64(&list, version);
    }
    buffer_add_char(&list, '}');
    struct value value = value_bytes(arena_copy(&request->arena, buffer_view(&list)));
    buffer_free(&list);
    return value;
}

void precondition_read(struct request *request, struct precondition *precondition)
{
    const struct condition *if_match = &request->conditions.if_match;
    const struct condition *if_none_match = &request->conditions.if_none_match;
    int flags = 0;
    *precondition = (struct precondition){0};
    if (if_match->given && if_match->any)
        flags |= CONDITION_EXISTS;
    if (if_match->given && !if_match->any) {
        flags |= CONDITION_IF_VERSION;
        precondition->if_versions = version_list(request, if_match);
    }
    if (if_none_match->given && if_none_match->any)
        flags |= CONDITION_ABSENT;
    if (if_none_match->given && !if_none_match->any) {
        flags |= CONDITION_UNLESS_VERSION;
        precondition->unless_versions = version_list(request, if_none_match);
    }
    precondition->flags = value_number(flags);
}
