// The forms of option values that more than one reader knows, or that are easily nearly right.
#include "unit.h"

#include "listener.h"
#include "option_values.h"

static void expect_listen(const char *text, const char *host, const char *port)
{
    struct listen_address address;
    const char *field;
    ck_assert_msg(option_listen(text, &field) && listen_address_read(text, &address), "refused: %s", text);
    ck_assert_str_eq(address.host, host);
    ck_assert_str_eq(address.port, port);
}

START_TEST(option_listen_takes_addresses)
{
    expect_listen("127.0.0.1:7070", "127.0.0.1", "7070");
    expect_listen("localhost:0", "localhost", "0");
    expect_listen("[::1]:65535", "::1", "65535");
    expect_listen("[10.0.0.1]:1", "10.0.0.1", "1");
}
END_TEST

// What the listener would refuse is refused with the options, and as what it is: a value that is wrong.
START_TEST(option_listen_refuses_what_is_none)
{
    static const char *const none[] = {"",     "7070",    ":7070",      "a:",       "a:65536", "a:+1",
                                       "a:-1", "a:08",    "a:1 ",       "::1:80",   "[]:80",   "[:80",
                                       "]:80", "[::1:80", "[::1]x]:80", "[[a]]:80", "a:80:90", "[a]b:80"};
    struct listen_address address;
    const char *field;
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        ck_assert_msg(!option_listen(none[i], &field) && !listen_address_read(none[i], &address), "taken: %s",
                      none[i]);
    char longest[LISTEN_HOST_BYTES + 3];
    memset(longest, 'a', sizeof longest);
    strcpy(longest + LISTEN_HOST_BYTES - 1, ":1");
    ck_assert(option_listen(longest, &field));
    longest[LISTEN_HOST_BYTES - 1] = 'a';
    strcpy(longest + LISTEN_HOST_BYTES, ":1");
    ck_assert(!option_listen(longest, &field));
}
END_TEST

START_TEST(option_size_knows_units)
{
    static const struct {
        const char *text;
        size_t bytes; // 0: refused
    } sizes[] = {
        {"1", 1},
        {"1k", 1024},
        {"3M", 3 << 20},
        {"2g", UINT64_C(2) << 30},
        {"8589934591g", SIZE_MAX / 2 - ((1 << 30) - 1)},
        {"0", 0},
        {"-1", 0},
        {"k", 0},
        {"", 0},
        {"1kk", 0},
        {"1 k", 0},
        {"1t", 0},
        {"01", 0},
        {"8589934592g", 0},
        {"9223372036854775808", 0},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t bytes = 0;
        ck_assert_msg(option_size(sizes[i].text, &bytes) == (sizes[i].bytes != 0), "%s", sizes[i].text);
        ck_assert_uint_eq(bytes, sizes[i].bytes);
    }
}
END_TEST

Suite *option_values_suite(void)
{
    const TTest *const tests[] = {
        option_listen_takes_addresses,
        option_listen_refuses_what_is_none,
        option_size_knows_units,
        NULL,
    };
    return suite_of("option_values", tests);
}
