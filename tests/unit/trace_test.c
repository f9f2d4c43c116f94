// traceparent as W3C Trace Context defines it, and as it must not be.
#include "unit.h"

#include "http/trace.h"

#define TRACE  "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT "00f067aa0ba902b7"

static void expect_begun(const char *header, const char *handed_on)
{
    struct bytes copy = exact_copy(bytes_of(header));
    struct trace trace;
    char out[TRACEPARENT + 1];
    ck_assert_msg(trace_begin(&trace, copy, 0xab), "%s is refused", header);
    ck_assert_str_eq(trace.trace_id, TRACE);
    ck_assert_str_eq(trace.span_id, "00000000000000ab");
    trace_write(&trace, out);
    ck_assert_str_eq(out, handed_on);
    exact_free(copy);
}

START_TEST(trace_goes_on_with_a_span_of_ours)
{
    expect_begun("00-" TRACE "-" PARENT "-01", "00-" TRACE "-00000000000000ab-01");
    expect_begun("00-" TRACE "-" PARENT "-00", "00-" TRACE "-00000000000000ab-00");
    // Flags that are not known yet are not handed on.
    expect_begun("00-" TRACE "-" PARENT "-ff", "00-" TRACE "-00000000000000ab-01");
    // A version to come: its first four fields are as these.
    expect_begun("01-" TRACE "-" PARENT "-01", "00-" TRACE "-00000000000000ab-01");
    expect_begun("cc-" TRACE "-" PARENT "-01-what-follows", "00-" TRACE "-00000000000000ab-01");
}
END_TEST

START_TEST(malformed_trace_is_none)
{
    static const char *const headers[] = {
        "",
        "00",
        "00-" TRACE "-" PARENT "-0",
        "00-" TRACE "-" PARENT "-011",
        "00-" TRACE "-" PARENT "-01-more",
        "01-" TRACE "-" PARENT "-01more",
        "ff-" TRACE "-" PARENT "-01",
        "0g-" TRACE "-" PARENT "-01",
        "00-00000000000000000000000000000000-" PARENT "-01",
        "00-" TRACE "-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" PARENT "-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473g-" PARENT "-01",
        "00-" TRACE "-00f067aa0ba902bG-01",
        "00-" TRACE "-" PARENT "-0x",
        "00_" TRACE "-" PARENT "-01",
        "00-" TRACE "_" PARENT "-01",
        "00-" TRACE "-" PARENT "_01",
        " 00-" TRACE "-" PARENT "-01",
    };
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        struct bytes copy = exact_copy(bytes_of(headers[i]));
        struct trace trace;
        ck_assert_msg(!trace_begin(&trace, copy, 1), "%s is taken", headers[i]);
        exact_free(copy);
    }
}
END_TEST

Suite *trace_suite(void)
{
    const TTest *const tests[] = {
        trace_goes_on_with_a_span_of_ours,
        malformed_trace_is_none,
        NULL,
    };
    return suite_of("trace", tests);
}
