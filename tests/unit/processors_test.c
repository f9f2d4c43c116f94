// The quota of a control group: whether a processor may be kept busy is decided by it.
#include "unit.h"

#include "processors.h"

#include <limits.h>

START_TEST(quotas_are_whole_processors)
{
    ck_assert_uint_eq(processors_of_quota("200000 100000\n"), 2);
    ck_assert_uint_eq(processors_of_quota("199999 100000\n"), 1);
    ck_assert_uint_eq(processors_of_quota("50000 100000\n"), 0);
    ck_assert_uint_eq(processors_of_quota("18446744073709551615 1"), UINT_MAX);
}
END_TEST

START_TEST(what_is_no_quota_limits_nothing)
{
    static const char *const texts[] = {"max 100000\n", "100000 0\n", "", "max", "1", "x y"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        ck_assert_msg(processors_of_quota(texts[i]) == UINT_MAX, "'%s'", texts[i]);
}
END_TEST

START_TEST(there_is_a_processor)
{
    ck_assert_uint_ge(processors_usable(), 1);
}
END_TEST

Suite *processors_suite(void)
{
    const TTest *const tests[] = {
        quotas_are_whole_processors,
        what_is_no_quota_limits_nothing,
        there_is_a_processor,
        NULL,
    };
    return suite_of("processors", tests);
}
