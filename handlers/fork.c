// Reading a fork's id, and the refusals of whoever goes through one.
#include "handlers/fork.h"

#include "handlers/access.h"

bool fork_id_valid(const struct request *request, struct bytes id)
{
    struct bytes shown = name_shown(request, id);
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    if (!id.size || id.size > FORK_ID_BYTES || bytes_is(shown, ".") || bytes_is(shown, ".."))
        return false;
    for (size_t i = 0; i < id.size; i++)
        if (!memchr(allowed, id.data[i], sizeof allowed - 1))
            return false;
    return true;
}

struct bytes fork_claim(struct request *request, struct bytes id)
{
    const struct token *token = token_of(request);
    if (!token || access_allows(request, GRANT_ADMIN, GRANT_FORKS, id, (struct bytes){0}))
        return id;
    return bytes_of(
        arena_printf(&request->arena, "%.*s\001%s", (int)id.size, (const char *)id.data, token->id));
}

void reply_bad_fork_id(struct request *request)
{
    reply_invalid(
        request, "fork",
        "a fork's id is 1 to %d letters, digits, dots, underscores and hyphens, and not . or .., which "
        "clients take out of a path",
        FORK_ID_BYTES);
}

bool fork_read(struct request *request, struct bytes *fork)
{
    bool given;
    *fork = request_argument(request, "fork", &given);
    if (!given) {
        *fork = (struct bytes){0};
        return true;
    }
    *fork = name_enter(request, *fork);
    if (fork_id_valid(request, *fork)) {
        *fork = fork_claim(request, *fork);
        return true;
    }
    reply_bad_fork_id(request);
    return false;
}

void reply_no_fork(struct request *request)
{
    reply_simple_problem(request, PROBLEM_NOT_FOUND, "there is no open fork of this id");
}

bool fork_refused(struct request *request, int64_t status)
{
    switch (status) {
    case FORK_ABSENT:
        reply_no_fork(request);
        return true;
    case FORK_CLOSING:
        reply_simple_problem(request, PROBLEM_BUSY,
                             "the fork is being promoted or discarded; nothing was done");
        return true;
    case FORK_NOT_COVERED:
        reply_simple_problem(request, PROBLEM_NOT_FOUND, "the fork was made without this bucket");
        return true;
    default:
        return false;
    }
}
