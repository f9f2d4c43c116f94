// The secret is compared by its hash, and wiped as soon as that is made.
#include "security/token.h"

#include "base/text.h"

#include <sodium.h>
#include <stdlib.h>

enum { ID_BYTES = TOKEN_ID / 2 };

static const char mark[] = "hf_";

static void hash_secret(const char *id, const uint8_t *secret, const uint8_t *key, uint8_t *hash)
{
    crypto_generichash_state state;
    crypto_generichash_init(&state, key, TOKEN_KEY, TOKEN_HASH);
    crypto_generichash_update(&state, (const uint8_t *)id, TOKEN_ID);
    crypto_generichash_update(&state, secret, TOKEN_SECRET);
    crypto_generichash_final(&state, hash, TOKEN_HASH);
    sodium_memzero(&state, sizeof state);
}

// --- making
// -----------------------------------------------------------------------------------------------------------

void token_mint(struct token_mint *mint)
{
    uint8_t id[ID_BYTES], secret[TOKEN_SECRET];
    randombytes_buf(id, sizeof id);
    randombytes_buf(secret, sizeof secret);
    randombytes_buf(mint->key, sizeof mint->key);
    sodium_bin2hex(mint->id, sizeof mint->id, id, sizeof id);
    hash_secret(mint->id, secret, mint->key, mint->hash);
    char *text = mint->text;
    memcpy(text, mark, sizeof mark - 1);
    memcpy(text + sizeof mark - 1, mint->id, TOKEN_ID);
    text[sizeof mark - 1 + TOKEN_ID] = '_';
    sodium_bin2base64(text + sizeof mark + TOKEN_ID, TOKEN_SECRET_TEXT + 1, secret, sizeof secret,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_memzero(secret, sizeof secret);
}

void token_mint_forget(struct token_mint *mint)
{
    sodium_memzero(mint, sizeof *mint);
}

// --- what a client shows
// ----------------------------------------------------------------------------------------------

static bool read_id(const uint8_t *text, char *id)
{
    for (int i = 0; i < TOKEN_ID; i++) {
        if (!((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f')))
            return false;
        id[i] = (char)text[i];
    }
    id[TOKEN_ID] = 0;
    return true;
}

static bool read_secret(const uint8_t *text, uint8_t *secret)
{
    size_t size = 0;
    const char *end = NULL;
    return sodium_base642bin(secret, TOKEN_SECRET, (const char *)text, TOKEN_SECRET_TEXT, NULL, &size, &end,
                             sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0 &&
           size == TOKEN_SECRET && end == (const char *)text + TOKEN_SECRET_TEXT;
}

bool token_shown_read(struct bytes authorization, struct token_shown *shown)
{
    static const char scheme[] = "bearer";
    enum { SCHEME = sizeof scheme - 1 };
    if (authorization.size <= SCHEME || authorization.data[SCHEME] != ' ' ||
        !text_equals_lower(bytes_make(authorization.data, SCHEME), scheme))
        return false;
    struct bytes text = text_trim(bytes_make(authorization.data + SCHEME, authorization.size - SCHEME));
    return text.size == TOKEN_TEXT && memcmp(text.data, mark, sizeof mark - 1) == 0 &&
           text.data[sizeof mark - 1 + TOKEN_ID] == '_' && read_id(text.data + sizeof mark - 1, shown->id) &&
           read_secret(text.data + sizeof mark + TOKEN_ID, shown->secret);
}

void token_shown_forget(struct token_shown *shown)
{
    sodium_memzero(shown, sizeof *shown);
}

// --- a known token
// ----------------------------------------------------------------------------------------------------

static bool read_grants(struct token *token, struct bytes lines)
{
    const char *reason;
    token->grants = arena_alloc(&token->arena, TOKEN_GRANTS_MOST * sizeof *token->grants);
    while (lines.size) {
        const uint8_t *end = memchr(lines.data, '\n', lines.size);
        struct bytes line = bytes_make(lines.data, end ? (size_t)(end - lines.data) : lines.size);
        size_t taken = end ? line.size + 1 : line.size;
        lines = bytes_make(lines.data + taken, lines.size - taken);
        if (token->grant_count == TOKEN_GRANTS_MOST ||
            !grant_parse(&token->arena, line, &token->grants[token->grant_count++], &reason))
            return false;
    }
    return true;
}

struct token *token_new(struct bytes id, struct bytes name, struct bytes prefix, struct bytes grants,
                        struct bytes key, struct bytes hash)
{
    if (id.size != TOKEN_ID || key.size != TOKEN_KEY || hash.size != TOKEN_HASH)
        return NULL;
    struct token *token = calloc(1, sizeof *token);
    if (!token)
        abort();
    token->holders = 1;
    token->waits = calloc(1, sizeof *token->waits);
    if (!token->waits)
        abort();
    token->waits->holders = 1;
    memcpy(token->id, id.data, TOKEN_ID);
    memcpy(token->key, key.data, TOKEN_KEY);
    memcpy(token->hash, hash.data, TOKEN_HASH);
    token->name = arena_copy(&token->arena, name);
    token->prefix = arena_copy(&token->arena, prefix);
    if (read_grants(token, grants))
        return token;
    token_release(token);
    return NULL;
}

void token_hold(struct token *token)
{
    token->holders++;
}

static void release_waits(struct token_waits *waits)
{
    if (--waits->holders == 0)
        free(waits);
}

void token_inherit_waits(struct token *token, const struct token *older)
{
    release_waits(token->waits);
    token->waits = older->waits;
    token->waits->holders++;
}

void token_release(struct token *token)
{
    if (--token->holders)
        return;
    release_waits(token->waits);
    arena_free(&token->arena);
    sodium_memzero(token, sizeof *token);
    free(token);
}

bool token_opens(const struct token *token, const struct token_shown *shown)
{
    uint8_t hash[TOKEN_HASH];
    hash_secret(shown->id, shown->secret, token->key, hash);
    return sodium_memcmp(hash, token->hash, TOKEN_HASH) == 0;
}

bool token_allows(const struct token *token, enum grant_action action, enum grant_kind kind,
                  struct bytes name, struct bytes path)
{
    for (size_t i = 0; i < token->grant_count; i++)
        if (grant_allows(&token->grants[i], action, kind, name, path))
            return true;
    return false;
}

bool token_allows_somewhere(const struct token *token, enum grant_action action, enum grant_kind kind,
                            struct bytes name)
{
    for (size_t i = 0; i < token->grant_count; i++)
        if (grant_allows(&token->grants[i], action, kind, name, token->grants[i].branch))
            return true;
    return false;
}

bool token_administers(const struct token *token)
{
    for (size_t i = 0; i < token->grant_count && !token->prefix.size; i++)
        if (token->grants[i].action == GRANT_ADMIN && token->grants[i].kind == GRANT_ANY_KIND)
            return true;
    return false;
}

// --- checking a new one
// -----------------------------------------------------------------------------------------------

bool token_name_check(struct bytes name, const char **reason)
{
    *reason = "a token's name is 1 to 128 bytes of UTF-8 without control characters";
    return name.size && name.size <= TOKEN_NAME_MOST && text_is_utf8(name) && !text_has_control(name);
}

bool token_prefix_check(struct bytes prefix, const char **reason)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    static const char marks[] = "._-";
    *reason =
        "a prefix is 1 to 32 letters, digits, dots, underscores and hyphens, the last no letter or digit";
    if (!prefix.size)
        return true;
    if (prefix.size > TOKEN_PREFIX_MOST || !memchr(marks, prefix.data[prefix.size - 1], sizeof marks - 1))
        return false;
    for (size_t i = 0; i < prefix.size; i++)
        if (!memchr(letters, prefix.data[i], sizeof letters - 1) &&
            !memchr(marks, prefix.data[i], sizeof marks - 1))
            return false;
    return true;
}

bool token_grants_write(struct buffer *lines, const struct bytes *texts, size_t count, struct bytes *wrong,
                        const char **reason)
{
    *wrong = (struct bytes){0};
    *reason = "a token has 1 to 64 grants";
    if (!count || count > TOKEN_GRANTS_MOST)
        return false;
    for (size_t i = 0; i < count; i++) {
        struct arena arena = {0};
        struct grant grant;
        bool good = grant_parse(&arena, texts[i], &grant, reason);
        if (good && i)
            buffer_add_char(lines, '\n');
        if (good)
            grant_format(lines, &grant);
        arena_free(&arena);
        if (!good) {
            *wrong = texts[i];
            return false;
        }
    }
    return true;
}
