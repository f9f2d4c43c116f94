// What the client makes of replies, also of those that no service of ours sent.
#include "unit.h"

#include "client/answer.h"
#include "client/arguments.h"
#include "client/exit_code.h"

static struct reply reply_with(int status, const char *head, const char *body)
{
    struct reply reply = {.status = status};
    buffer_add_text(&reply.head, head);
    buffer_add_text(&reply.body, body);
    return reply;
}

static void expect_line(bool json, int status, const char *body, const char *expected)
{
    struct arguments arguments = {.json = json};
    struct reply reply = reply_with(status, "", body);
    struct buffer line = {0};
    answer_describe(&arguments, &reply, &line);
    assert_bytes_eq(buffer_view(&line), bytes_of(expected));
    buffer_free(&line);
    reply_free(&reply);
}

START_TEST(answer_tells_the_problem)
{
    expect_line(false, 400, "{\"kind\":\"invalid\",\"detail\":\"no\"}\n", "holdfast: 400 invalid: no");
    expect_line(false, 404, "<html>", "holdfast: 404 not_found");
    expect_line(false, 500, "", "holdfast: 500 the service refused");
    expect_line(true, 400, " {\"kind\":\"x\"}", "holdfast: 400 the service refused");
    expect_line(true, 400, "{\"kind\":\"x\"} \n", "{\"kind\":\"x\"}");
}
END_TEST

START_TEST(answer_tells_a_terminal_nothing)
{
    expect_line(false, 400, "{\"kind\":\"\\u001b[2J\",\"detail\":\"a\\nb\\u007f\"}",
                "holdfast: 400 ?[2J: a?b?");
    // U+009B opens a command as ESC [ does.
    expect_line(false, 400, "{\"kind\":\"\\u009b2J\",\"detail\":\"\xc2\x80 \xc2\xa0 \xc2\x9f\"}",
                "holdfast: 400 ?2J: ? \xc2\xa0 ?");
}
END_TEST

static void expect_version(const char *head, const char *expected)
{
    struct reply reply = reply_with(200, head, "");
    assert_bytes_eq(reply_version(&reply), bytes_of(expected));
    reply_free(&reply);
}

START_TEST(answer_reads_the_version)
{
    expect_version("HTTP/1.1 200 OK\r\nETag: \"12\"\r\n\r\n", "12");
    expect_version("HTTP/1.1 200 OK\netag:W/\"12\" \n", "12");
    expect_version("HTTP/1.1 200 OK\r\nETag: \"\"\r\n", "");
    expect_version("HTTP/1.1 200 OK\r\nX-ETag: \"12\"\r\n", "");
    // What is no tag stays as it is.
    expect_version("ETag: \"12\r\n", "\"12");
    expect_version("ETag: 12\"", "12\"");
    expect_version("ETag: \"\r\n", "\"");
    expect_version("", "");
}
END_TEST

Suite *answer_suite(void)
{
    const TTest *const tests[] = {
        answer_tells_the_problem,
        answer_tells_a_terminal_nothing,
        answer_reads_the_version,
        NULL,
    };
    return suite_of("answer", tests);
}
