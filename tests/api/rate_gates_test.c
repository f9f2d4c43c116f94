// Gates: so many in a window that begins with the first, by what each call says.
#include "limit_steps.h"

static const char *gate_key(void)
{
    return key_path("rate-gates", api_bucket(), "k");
}

static struct answer *peek(const char *path, int64_t max, const char *window)
{
    return GET(TEXT("%s?max=%lld&window=%s", path, (long long)max, window));
}

static void expect_gate(const struct answer *answer, bool ok, int64_t current, int64_t left,
                        int64_t resets_at)
{
    ck_status(answer, 200);
    ck_reply(answer, json_object_size(answer->json) == 5);
    ck_reply(answer, truth_in(answer, "ok") == ok);
    ck_reply(answer, number_in(answer, "current") == current);
    ck_reply(answer, number_in(answer, "left") == left);
    ck_reply(answer, moment_in(answer, "resets_at") == resets_at);
    ck_reply(answer, (answer_header(answer, "Retry-After") != NULL) == !ok);
}

START_TEST(gate_lets_so_many_pass_in_a_window)
{
    const char *path = gate_key();
    int64_t end = START + 10 * SECOND;
    database_stop_clock(&api.database, START);
    expect_gate(peek(path, 3, "10s"), true, 0, 3, -1);
    expect_gate(CHECK(path, 3, "10s"), true, 1, 2, end);
    database_stop_clock(&api.database, START + 4 * SECOND + 1);
    expect_gate(CHECK(path, 3, "10s"), true, 2, 1, end);
    expect_gate(CHECK(path, 3, "10s"), true, 3, 0, end);
    struct answer *refused = CHECK(path, 3, "10s");
    expect_gate(refused, false, 3, 0, end);
    ck_assert_int_eq(number_in(refused, "max"), 3);
    ck_header(refused, "Retry-After", "6"); // of 5.999999 s
    ck_header(refused, "Holdfast-Position", NULL);
    expect_gate(peek(path, 3, "10s"), false, 3, 0, end);
    database_stop_clock(&api.database, end - 1);
    expect_gate(CHECK(path, 3, "10s"), false, 3, 0, end);
    ck_header(CHECK(path, 3, "10s"), "Retry-After", "1");
    database_stop_clock(&api.database, end);
    expect_gate(peek(path, 3, "10s"), true, 0, 3, -1);
    expect_gate(CHECK(path, 3, "10s"), true, 1, 2, end + 10 * SECOND);
    answer_need(CHECK(path, 3, "10s"), "Holdfast-Position");
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(gate_follows_the_limit_of_each_call)
{
    const char *path = gate_key();
    database_stop_clock(&api.database, START);
    expect_gate(CHECK(path, 2, "10s"), true, 1, 1, START + 10 * SECOND);
    expect_gate(CHECK(path, 2, "10s"), true, 2, 0, START + 10 * SECOND);
    expect_gate(CHECK(path, 5, "10s"), true, 3, 2, START + 10 * SECOND);
    expect_gate(CHECK(path, 1, "10s"), false, 3, 0, START + 10 * SECOND);
    // A longer window, said by a call that is refused, holds.
    expect_gate(CHECK(path, 3, "1m"), false, 3, 0, START + 60 * SECOND);
    database_stop_clock(&api.database, START + 10 * SECOND);
    expect_gate(CHECK(path, 3, "1m"), false, 3, 0, START + 60 * SECOND);
    database_stop_clock(&api.database, START + 60 * SECOND - 1);
    expect_gate(CHECK(path, 3, "1m"), false, 3, 0, START + 60 * SECOND);
    // A shorter one is over for the call that says it.
    expect_gate(CHECK(path, 3, "59s"), true, 1, 2, START + 60 * SECOND - 1 + 59 * SECOND);
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(gate_of_a_clock_that_steps_back)
{
    const char *path = gate_key();
    database_stop_clock(&api.database, START);
    expect_gate(CHECK(path, 1, "10s"), true, 1, 0, START + 10 * SECOND);
    database_stop_clock(&api.database, START - 3600 * SECOND);
    struct answer *refused = CHECK(path, 1, "10s");
    expect_gate(refused, false, 1, 0, START + 10 * SECOND);
    ck_header(refused, "Retry-After", "3610");
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(gate_input_is_checked)
{
    const char *path = gate_key();
    static const char *const bad_max[] = {"0", "-1", "1.5", "\"3\"", "null"};
    static const char *const bad_window[] = {"\"0s\"", "10", "\"10\"", "null", "\"3651d\"", "\"-1s\""};
    for (size_t i = 0; i < sizeof bad_max / sizeof bad_max[0]; i++)
        ck_invalid(
            POST(TEXT("%s/check", path), bytes_of(TEXT("{\"window\":\"10s\",\"max\":%s}", bad_max[i]))),
            "max");
    for (size_t i = 0; i < sizeof bad_window / sizeof bad_window[0]; i++)
        ck_invalid(POST(TEXT("%s/check", path), bytes_of(TEXT("{\"max\":1,\"window\":%s}", bad_window[i]))),
                   "window");
    ck_invalid(POST(TEXT("%s/check", path), BODY("{\"max\":1}")), "window");
    ck_invalid(POST(TEXT("%s/check", path), BODY("{\"window\":\"1s\"}")), "max");
    ck_status(POST(TEXT("%s/check", path), NO_BODY), 400);
    ck_invalid(GET(path), "max");
    ck_invalid(GET(TEXT("%s?max=3", path)), "window");
    ck_invalid(GET(TEXT("%s?max=0&window=1s", path)), "max");
    ck_invalid(GET(TEXT("%s?max=1&window=1", path)), "window");
    // None of these made the name one of a gate.
    const char *name = TEXT("%.*s", (int)(strrchr(path, '/') - path), path);
    ck_problem(DELETE(name), 404, "not_found");
    ck_status(CHECK(path, INT64_MAX, "3650d"), 200);
    ck_status(DELETE(name), 204);
}
END_TEST

Suite *rate_gates_suite(void)
{
    const TTest *const tests[] = {
        gate_lets_so_many_pass_in_a_window,
        gate_follows_the_limit_of_each_call,
        gate_of_a_clock_that_steps_back,
        gate_input_is_checked,
        NULL,
    };
    return api_suite("rate_gates", NULL, tests);
}
