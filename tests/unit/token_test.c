// Tokens: what a client shows is read strictly, opens only what it was made for, and leaves nothing behind.
#include "unit.h"

#include "security/token.h"

#include <sodium.h>
#include <stdio.h>

static const char *const lines = "write:app\nread:s/under=a\nadmin:counters:*";

static struct token *token_of_mint(const struct token_mint *mint, const char *prefix, const char *grants)
{
    return token_new(bytes_of(mint->id), B("name"), bytes_of(prefix), bytes_of(grants),
                     bytes_make(mint->key, TOKEN_KEY), bytes_make(mint->hash, TOKEN_HASH));
}

static bool shows(const char *header, struct token_shown *shown)
{
    struct bytes copy = exact_copy(bytes_of(header));
    bool good = token_shown_read(copy, shown);
    exact_free(copy);
    return good;
}

START_TEST(a_token_opens_what_it_was_made_for)
{
    struct token_mint mint, other;
    struct token_shown shown;
    char header[TOKEN_TEXT + 32];
    token_mint(&mint);
    token_mint(&other);
    ck_assert_uint_eq(strlen(mint.text), TOKEN_TEXT);
    ck_assert_str_ne(mint.text, other.text);
    static const char *const schemes[] = {"Bearer ", "bearer ", "BEARER   "};
    struct token *token = token_of_mint(&mint, "", lines), *another = token_of_mint(&other, "", lines);
    for (size_t i = 0; i < 3; i++) {
        snprintf(header, sizeof header, "%s%s", schemes[i], mint.text);
        ck_assert(shows(header, &shown));
        ck_assert_str_eq(shown.id, mint.id);
        ck_assert(token_opens(token, &shown));
        ck_assert(!token_opens(another, &shown));
    }
    for (size_t i = 0; i < TOKEN_SECRET; i++) {
        shown.secret[i] ^= 1;
        ck_assert(!token_opens(token, &shown));
        shown.secret[i] ^= 1;
    }
    // A hash that was put beside another id opens nothing.
    memcpy(another->key, mint.key, TOKEN_KEY);
    memcpy(another->hash, mint.hash, TOKEN_HASH);
    memcpy(shown.id, other.id, sizeof shown.id);
    ck_assert(!token_opens(another, &shown));
    token_shown_forget(&shown);
    ck_assert(sodium_is_zero((const unsigned char *)&shown, sizeof shown));
    token_release(token);
    token_release(another);
    token_mint_forget(&mint);
    ck_assert(sodium_is_zero((const unsigned char *)&mint, sizeof mint));
}
END_TEST

START_TEST(what_is_no_token_is_refused)
{
    struct token_mint mint;
    struct token_shown shown;
    token_mint(&mint);
    char text[200];
    static const char *const forms[] = {"%s",         "Bearer%s",   "Basic %s",     "Bearer: %s",
                                        "Bearer x%s", "Bearer %sx", "Bearer %s %s", "Token %s",
                                        "Bearer\t%s", "Bearer %s,", "Bearer \"%s\""};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(text, sizeof text, forms[i], mint.text, mint.text);
#pragma GCC diagnostic pop
        ck_assert_msg(!shows(text, &shown), "%s", forms[i]);
    }
    static const char *const others[] = {"", "Bearer", "Bearer ", "Bearer  ", "bearer hf_", "B"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        ck_assert_msg(!shows(others[i], &shown), "%s", others[i]);
    // Each character of the form matters, down to the bits of the last one that mean nothing.
    for (size_t at = 0; at < TOKEN_TEXT; at++) {
        snprintf(text, sizeof text, "Bearer %s", mint.text);
        text[7 + at] = '!';
        ck_assert_msg(!shows(text, &shown), "%zu", at);
    }
    snprintf(text, sizeof text, "Bearer %s", mint.text);
    text[7 + 3] = 'G';
    ck_assert(!shows(text, &shown));
    snprintf(text, sizeof text, "Bearer %s", mint.text);
    text[7 + TOKEN_TEXT - 1] = 'B';
    ck_assert(!shows(text, &shown));
}
END_TEST

START_TEST(stored_columns_are_read_strictly)
{
    struct token_mint mint;
    token_mint(&mint);
    static const char *const bad[] = {"nonsense", "read:app\n\nread:b", "read:app\nx", "\nread:app"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_ptr_null(token_of_mint(&mint, "", bad[i]));
    ck_assert_ptr_null(token_new(bytes_of(mint.id), B("n"), B(""), B("read:a"), bytes_make(mint.key, 31),
                                 bytes_make(mint.hash, TOKEN_HASH)));
    ck_assert_ptr_null(token_new(bytes_of(mint.id), B("n"), B(""), B("read:a"),
                                 bytes_make(mint.key, TOKEN_KEY), bytes_make(mint.hash, 0)));
    ck_assert_ptr_null(token_new(B("abc"), B("n"), B(""), B("read:a"), bytes_make(mint.key, TOKEN_KEY),
                                 bytes_make(mint.hash, TOKEN_HASH)));
}
END_TEST

START_TEST(any_grant_of_a_token_is_enough)
{
    struct token_mint mint;
    token_mint(&mint);
    struct token *token = token_of_mint(&mint, "", lines);
    const struct bytes whole = {0};
    ck_assert(token_allows(token, GRANT_WRITE, GRANT_BUCKETS, B("app"), whole));
    ck_assert(!token_allows(token, GRANT_ADMIN, GRANT_BUCKETS, B("app"), whole));
    ck_assert(token_allows(token, GRANT_ADMIN, GRANT_COUNTERS, B("any"), whole));
    ck_assert(!token_allows(token, GRANT_READ, GRANT_BUCKETS, B("s"), whole));
    ck_assert(token_allows_somewhere(token, GRANT_READ, GRANT_BUCKETS, B("s")));
    ck_assert(!token_allows_somewhere(token, GRANT_WRITE, GRANT_BUCKETS, B("s")));
    ck_assert(!token_administers(token));
    token_release(token);
    static const struct {
        const char *prefix;
        const char *grants;
        bool administers;
    } cases[] = {{"", "admin:*", true},  {"", "read:a\nadmin:*", true},  {"t.", "admin:*", false},
                 {"", "write:*", false}, {"", "admin:buckets:*", false}, {"", "admin:app*", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        token = token_of_mint(&mint, cases[i].prefix, cases[i].grants);
        ck_assert_int_eq(token_administers(token), cases[i].administers);
        token_release(token);
    }
}
END_TEST

START_TEST(names_prefixes_and_lists_of_grants_are_checked)
{
    static const char *const good[] = {"", "t.", "t7-", "a_b_", "Tenant.7.", "-"};
    static const char *const bad[] = {"t",  "tenant7",   "t/",   "a b.",
                                      "t:", "\xc3\xa9.", "t.\n", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa."};
    const char *reason;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        ck_assert_msg(token_prefix_check(bytes_of(good[i]), &reason), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!token_prefix_check(bytes_of(bad[i]), &reason), "%s", bad[i]);
    ck_assert(token_name_check(B("checkout"), &reason));
    ck_assert(!token_name_check(B(""), &reason));
    ck_assert(!token_name_check(B("a\nb"), &reason));
    ck_assert(!token_name_check(B("\xff"), &reason));
    struct buffer out = {0};
    struct bytes wrong, texts[TOKEN_GRANTS_MOST + 1];
    for (size_t i = 0; i <= TOKEN_GRANTS_MOST; i++)
        texts[i] = B("read:buckets:app");
    ck_assert(!token_grants_write(&out, texts, 0, &wrong, &reason));
    ck_assert(!token_grants_write(&out, texts, TOKEN_GRANTS_MOST + 1, &wrong, &reason));
    ck_assert(token_grants_write(&out, texts, 2, &wrong, &reason));
    assert_bytes_eq(buffer_view(&out), B("read:app\nread:app"));
    texts[1] = B("nonsense");
    ck_assert(!token_grants_write(&out, texts, 2, &wrong, &reason));
    assert_bytes_eq(wrong, B("nonsense"));
    buffer_free(&out);
}
END_TEST

Suite *token_suite(void)
{
    const TTest *tests[] = {
        a_token_opens_what_it_was_made_for,
        what_is_no_token_is_refused,
        stored_columns_are_read_strictly,
        any_grant_of_a_token_is_enough,
        names_prefixes_and_lists_of_grants_are_checked,
        NULL,
    };
    return suite_of("token", tests);
}
