// Preferences as RFC 7240 writes them, and as clients get them wrong.
#include "unit.h"

#include "http/prefer.h"

static void expect(const char *header, const char *name, const char *expected)
{
    struct bytes copy = exact_copy(bytes_of(header));
    struct bytes value;
    ck_assert_msg(prefer_find(copy, name, &value), "%s is not in %s", name, header);
    assert_bytes_eq(value, bytes_of(expected));
    exact_free(copy);
}

static void expect_none(const char *header, const char *name)
{
    struct bytes copy = exact_copy(bytes_of(header));
    struct bytes value;
    ck_assert_msg(!prefer_find(copy, name, &value), "%s is in %s", name, header);
    exact_free(copy);
}

START_TEST(prefer_reads_what_the_standard_allows)
{
    expect("wait=10", "wait", "10");
    expect("wait=\"10\"", "wait", "10");
    expect("WAIT = 10", "wait", "10");
    expect("wait=10;x=y", "wait", "10");
    expect("respond-async, wait=10", "wait", "10");
    expect(",, wait=10 ,", "wait", "10");
    expect("foo=\"a, wait=1; \\\" wait=2\", wait=3", "wait", "3");
    expect("wait=1, wait=2", "wait", "1");
    expect("wait", "wait", "");
    expect("wait=", "wait", "");
    expect("wait; n=1", "wait", "");
    expect("return=minimal; wait=7, wait=3", "wait", "3");
}
END_TEST

START_TEST(prefer_leaves_out_what_is_not_there)
{
    expect_none("", "wait");
    expect_none("waits=1, xwait=2, x=wait", "wait");
    expect_none("foo=\"wait=1", "wait");
    expect_none("foo=\"wait=1\\", "wait");
    expect_none("foo; wait=1", "wait");
}
END_TEST

Suite *prefer_suite(void)
{
    const TTest *const tests[] = {
        prefer_reads_what_the_standard_allows,
        prefer_leaves_out_what_is_not_there,
        NULL,
    };
    return suite_of("prefer", tests);
}
