// Tokens: their text, what is kept of it, and what the bearer may do.
//
// The text is hf_ID_SECRET: 16 hexadecimal digits by which it is found, and 256 random bits as 43 characters
// of base64url. Only a keyed hash of both is stored (migrations/0009_tokens.sql says why it is keyed so).
#pragma once

#include "security/grant.h"

#include <uthash.h>

enum {
    TOKEN_ID = 16,
    TOKEN_SECRET = 32,
    TOKEN_SECRET_TEXT = 43,
    TOKEN_TEXT = 3 + TOKEN_ID + 1 + TOKEN_SECRET_TEXT,
    TOKEN_KEY = 32,
    TOKEN_HASH = 32,
    TOKEN_GRANTS_MOST = 64,
    TOKEN_NAME_MOST = 128,
    TOKEN_PREFIX_MOST = 32,
};

// A token that was just made. `text` is the secret: token_mint_forget wipes it.
struct token_mint {
    char text[TOKEN_TEXT + 1];
    char id[TOKEN_ID + 1];
    uint8_t key[TOKEN_KEY];
    uint8_t hash[TOKEN_HASH];
};

void token_mint(struct token_mint *mint);
void token_mint_forget(struct token_mint *mint);

// What a client showed. token_shown_forget wipes the secret.
struct token_shown {
    char id[TOKEN_ID + 1];
    uint8_t secret[TOKEN_SECRET];
};

// Reads the header Authorization: `Bearer` in any case, spaces, the token. False when it is anything else.
bool token_shown_read(struct bytes authorization, struct token_shown *shown);
void token_shown_forget(struct token_shown *shown);

// How many requests with a token wait, which its holders count: one for all that was read of the token.
struct token_waits {
    unsigned count;
    unsigned holders;
};

// A token as it is known here. One object serves all requests that bear it, each of which holds it; it goes
// with the last. The members do not change, but for what counts looks and waits.
struct token {
    UT_hash_handle hh; // of whoever keeps it
    struct arena arena;
    unsigned holders;
    struct token_waits *waits;
    uint64_t generation; // of what was known when it was last looked up
    char id[TOKEN_ID + 1];
    uint8_t key[TOKEN_KEY];
    uint8_t hash[TOKEN_HASH];
    struct bytes name;
    struct bytes prefix;
    bool expires;
    int64_t expires_at; // microseconds since 1970 on the database's clock
    struct grant *grants;
    size_t grant_count;
};

// A token with one holder from its stored columns; `grants` are lines. NULL when they are not what this
// program stores.
struct token *token_new(struct bytes id, struct bytes name, struct bytes prefix, struct bytes grants,
                        struct bytes key, struct bytes hash);
void token_hold(struct token *token);

// Lets `token` count together with `older`, which is the same read before.
void token_inherit_waits(struct token *token, const struct token *older);
void token_release(struct token *token);

// Whether the secret is the token's, in a time that does not depend on where they differ.
bool token_opens(const struct token *token, const struct token_shown *shown);

// Whether one of its grants covers the action; `name` as the bearer says it, the rest as for grant_allows.
bool token_allows(const struct token *token, enum grant_action action, enum grant_kind kind,
                  struct bytes name, struct bytes path);

// Whether it may do the action on any branch of the name at all.
bool token_allows_somewhere(const struct token *token, enum grant_action action, enum grant_kind kind,
                            struct bytes name);

// Whether it may make and revoke tokens: admin:* without a prefix of names.
bool token_administers(const struct token *token);

// What a new token is to be, checked: the name is one, the prefix 1 to 32 letters, digits, dots, underscores
// and hyphens that end in none of the first two (else app and app2 would overlap), or empty. False with a
// literal in `reason`.
bool token_name_check(struct bytes name, const char **reason);
bool token_prefix_check(struct bytes prefix, const char **reason);

// Adds the canonical lines of the grants in `texts` to `lines`. False with a literal in `reason` and the
// grant in question in `wrong`.
bool token_grants_write(struct buffer *lines, const struct bytes *texts, size_t count, struct bytes *wrong,
                        const char **reason);
