// Who may do what: every request is decided here before its handler runs, names that come in bodies and
// parameters when they are read. Names of a tenant get its prefix on the way in, and lose it on the way out.
#pragma once

#include "handlers/context.h"
#include "security/token.h"

enum route_need {
    NEED_NOBODY, // a rule that was forgotten
    NEED_NOTHING,
    NEED_TOKEN, // any: what it shows or does is decided name by name
    NEED_READ,
    NEED_WRITE,
    NEED_ADMIN,
    NEED_ADMINISTRATOR, // of tokens
};

enum route_about {
    ABOUT_NOTHING,
    ABOUT_NAME,   // parameter 0 as a whole
    ABOUT_BRANCH, // parameter 0 in the branch that the query's `under` means
    ABOUT_DROP,   // the same with `under`; without it the whole, which then only an administrator may
    ABOUT_ITEMS,  // parameter 0 in a branch that the body names: the handler decides with access_check
};

// The rules of routes; `kind` is a name of enum grant_kind without GRANT_.
#define OPEN                                                                                                 \
    {                                                                                                        \
        NEED_NOTHING, 0, ABOUT_NOTHING                                                                       \
    }
#define ITEMS                                                                                                \
    {                                                                                                        \
        NEED_TOKEN, 0, ABOUT_NOTHING                                                                         \
    }
#define LISTED                                                                                               \
    {                                                                                                        \
        NEED_TOKEN, 0, ABOUT_NOTHING                                                                         \
    }
#define READS(kind)                                                                                          \
    {                                                                                                        \
        NEED_READ, GRANT_##kind, ABOUT_NAME                                                                  \
    }
#define WRITES(kind)                                                                                         \
    {                                                                                                        \
        NEED_WRITE, GRANT_##kind, ABOUT_NAME                                                                 \
    }
#define ADMINISTERS(kind)                                                                                    \
    {                                                                                                        \
        NEED_ADMIN, GRANT_##kind, ABOUT_NAME                                                                 \
    }
#define READS_IN(kind)                                                                                       \
    {                                                                                                        \
        NEED_READ, GRANT_##kind, ABOUT_BRANCH                                                                \
    }
#define WRITES_IN(kind)                                                                                      \
    {                                                                                                        \
        NEED_WRITE, GRANT_##kind, ABOUT_BRANCH                                                               \
    }
#define READS_ITEMS(kind)                                                                                    \
    {                                                                                                        \
        NEED_READ, GRANT_##kind, ABOUT_ITEMS                                                                 \
    }
#define DROPS(kind)                                                                                          \
    {                                                                                                        \
        NEED_WRITE, GRANT_##kind, ABOUT_DROP                                                                 \
    }
#define TOKENS                                                                                               \
    {                                                                                                        \
        NEED_ADMINISTRATOR, 0, ABOUT_NOTHING                                                                 \
    }

// For http_options.
void access_admit(struct request *request);
bool access_turns_away(struct request *request, struct problem *problem);

// The token that the request bears; NULL while none is needed.
static inline const struct token *token_of(const struct request *request)
{
    return request->caller;
}

// Whether the caller may do the action to the name, as stored, on the path (as for grant_allows).
bool access_allows(const struct request *request, enum grant_action action, enum grant_kind kind,
                   struct bytes name, struct bytes path);

// The same; replies `forbidden` when not.
bool access_check(struct request *request, enum grant_action action, enum grant_kind kind, struct bytes name,
                  struct bytes path);

void reply_forbidden(struct request *request);

// 401; wipes the secret.
void reply_unauthorized(struct request *request);

// A name as the client says it to what is stored: with the tenant's prefix. What is empty stays so.
struct bytes name_enter(struct request *request, struct bytes name);

// The beginning of a stored name, of which the client says the rest; an empty one is the prefix alone.
struct bytes name_enter_beginning(struct request *request, struct bytes beginning);

// A stored name as the client may see it.
struct bytes name_shown(const struct request *request, struct bytes name);

// Whether the stored name is one of the caller's tenant; always when it has no prefix.
bool name_is_own(const struct request *request, struct bytes name);

// Which stored names of the table of names the caller may read, or which forks it administers, for functions
// that list: a JSON array of {"kind","name","begins"}, kind null for all; null when it may all.
struct value access_readable(struct request *request);
struct value access_administered_forks(struct request *request);

// The same of buckets that it may write as a whole.
struct value access_writable_buckets(struct request *request);
