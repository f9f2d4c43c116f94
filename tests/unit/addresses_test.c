// Which addresses count as one: those that one user has, and no others.
#include "unit.h"

#include "http/addresses.h"

#include <arpa/inet.h>

static uint64_t key_of(const char *text)
{
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &four.sin_addr) == 1)
        return addresses_key((struct sockaddr *)&four);
    ck_assert_int_eq(inet_pton(AF_INET6, text, &six.sin6_addr), 1);
    return addresses_key((struct sockaddr *)&six);
}

START_TEST(addresses_of_one_user_are_one)
{
    ck_assert_uint_eq(key_of("192.0.2.7"), key_of("::ffff:192.0.2.7"));
    ck_assert_uint_eq(key_of("2001:db8:1:2::1"), key_of("2001:db8:1:2:ffff:ffff:ffff:ffff"));
}
END_TEST

START_TEST(addresses_of_others_are_others)
{
    ck_assert_uint_ne(key_of("192.0.2.7"), key_of("192.0.2.8"));
    ck_assert_uint_ne(key_of("2001:db8:1:2::1"), key_of("2001:db8:1:3::1"));
    // Their first four bytes are the same.
    ck_assert_uint_ne(key_of("32.1.13.184"), key_of("2001:db8::1"));
    ck_assert_uint_ne(key_of("0.0.0.0"), key_of("::1"));
}
END_TEST

START_TEST(addresses_count_in_and_out)
{
    ck_assert_uint_eq(addresses_enter(7), 1);
    ck_assert_uint_eq(addresses_enter(7), 2);
    ck_assert_uint_eq(addresses_enter(8), 1);
    addresses_leave(7);
    ck_assert_uint_eq(addresses_enter(7), 2);
    for (int i = 0; i < 2; i++)
        addresses_leave(7);
    addresses_leave(8);
    ck_assert_uint_eq(addresses_enter(7), 1);
    addresses_leave(7);
}
END_TEST

Suite *addresses_suite(void)
{
    const TTest *const tests[] = {
        addresses_of_one_user_are_one,
        addresses_of_others_are_others,
        addresses_count_in_and_out,
        NULL,
    };
    return suite_of("addresses", tests);
}
