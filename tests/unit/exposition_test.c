// The text of metrics: what is escaped, and how a histogram is written.
#include "unit.h"

#include "observe/exposition.h"

static void expect_text(struct buffer *out, const char *text)
{
    assert_bytes_eq(buffer_view(out), bytes_of(text));
    buffer_free(out);
}

START_TEST(labels_and_help_are_escaped)
{
    struct buffer out = {0};
    const exposition_labels labels = {{"a", "quote \" back \\ line\nend"}, {"b", "\xc3\xa4"}};
    exposition_family(&out, "x_total", EXPOSITION_COUNTER, "a \\ b\n\"c\"");
    exposition_sample(&out, "x_total", labels, 12, 1);
    expect_text(&out, "# HELP x_total a \\\\ b\\n\"c\"\n# TYPE x_total counter\n"
                      "x_total{a=\"quote \\\" back \\\\ line\\nend\",b=\"\xc3\xa4\"} 12\n");
}
END_TEST

START_TEST(numbers_are_in_base_units)
{
    struct buffer out = {0};
    const exposition_labels none = {{0}};
    exposition_sample(&out, "x_seconds", none, 1500001, 1000000);
    exposition_sample(&out, "x_bytes", none, UINT64_MAX, 1);
    expect_text(&out, "x_seconds 1.500001\nx_bytes 18446744073709551615\n");
}
END_TEST

START_TEST(buckets_are_cumulative_and_bounds_belong_to_them)
{
    struct buffer out = {0};
    struct histogram histogram = {0};
    uint64_t within[HISTOGRAM_BOUNDS + 1];
    const struct histogram_bounds bounds = {.count = 2, .scale = 1000000, .most = {250, 16000000}};
    const exposition_labels labels = {{"a", "b"}};
    static const uint64_t values[] = {0, 250, 251, 16000000, 16000001};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        histogram_add(&histogram, &bounds, values[i]);
    for (int i = 0; i <= HISTOGRAM_BOUNDS; i++)
        within[i] = count_get(&histogram.within[i]);
    exposition_histogram(&out, "x", labels, &bounds, within, count_get(&histogram.sum));
    expect_text(&out, "x_bucket{a=\"b\",le=\"0.00025\"} 2\nx_bucket{a=\"b\",le=\"16\"} 4\n"
                      "x_bucket{a=\"b\",le=\"+Inf\"} 5\nx_sum{a=\"b\"} 32.000502\nx_count{a=\"b\"} 5\n");
}
END_TEST

Suite *exposition_suite(void)
{
    const TTest *const tests[] = {
        labels_and_help_are_escaped,
        numbers_are_in_base_units,
        buckets_are_cumulative_and_bounds_belong_to_them,
        NULL,
    };
    return suite_of("exposition", tests);
}
