// The log: lines that a JSON parser reads, whole under threads, and never a wait for a reader that stopped.
#include "unit.h"

#include "base/buffer.h"
#include "base/log.h"
#include "base/timestamp.h"

#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SMALL_PIPE = 4096 };

// Standard error turned to a pipe of the smallest size, or to something else, and back.
struct capture {
    int saved;
    int read_end; // without blocking
};

static void capture_into(struct capture *capture, int write_end)
{
    fflush(stderr);
    capture->saved = dup(STDERR_FILENO);
    ck_assert_int_ge(capture->saved, 0);
    ck_assert_int_eq(dup2(write_end, STDERR_FILENO), STDERR_FILENO);
    close(write_end);
}

static void capture_begin(struct capture *capture)
{
    int ends[2];
    signal(SIGPIPE, SIG_IGN); // as the service does
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(fcntl(ends[1], F_SETPIPE_SZ, SMALL_PIPE), SMALL_PIPE);
    ck_assert_int_eq(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    capture->read_end = ends[0];
    capture_into(capture, ends[1]);
}

static void capture_end(struct capture *capture)
{
    ck_assert_int_eq(dup2(capture->saved, STDERR_FILENO), STDERR_FILENO);
    close(capture->saved);
    close(capture->read_end);
}

// Adds what can be read now to `out`.
static void drain(const struct capture *capture, struct buffer *out)
{
    uint8_t piece[4096];
    ssize_t size;
    while ((size = read(capture->read_end, piece, sizeof piece)) > 0)
        buffer_add(out, piece, (size_t)size);
}

// The next line of `text` without its end, and `text` moved behind it. An empty view when there is no whole
// line.
static struct bytes next_line(struct bytes *text)
{
    const uint8_t *end = text->size ? memchr(text->data, '\n', text->size) : NULL;
    if (!end)
        return bytes_make(NULL, 0);
    struct bytes line = bytes_make(text->data, (size_t)(end - text->data));
    *text = bytes_make(end + 1, text->size - line.size - 1);
    return line;
}

// The object that the one line in the log holds. To be given back.
static json_t *only_line(const struct capture *capture)
{
    struct buffer out = {0};
    drain(capture, &out);
    struct bytes text = buffer_view(&out);
    struct bytes line = next_line(&text);
    ck_assert_uint_eq(text.size, 0);
    json_t *object = json_loadb((const char *)line.data, line.size, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(object);
    buffer_free(&out);
    return object;
}

static const char *field(json_t *object, const char *name)
{
    const char *value = json_string_value(json_object_get(object, name));
    ck_assert_msg(value != NULL, "no field %s", name);
    return value;
}

START_TEST(log_event_is_one_line_of_json)
{
    struct capture capture;
    capture_begin(&capture);
    int64_t before = timestamp_now();
    log_event(LOG_WARN, "database_away", "reason", "he said \"no\"\n\x01\xff", "state", NULL, "empty", "",
              NULL);
    json_t *line = only_line(&capture);
    capture_end(&capture);
    int64_t time = 0;
    ck_assert(timestamp_parse(bytes_of(field(line, "time")), &time));
    ck_assert_int_ge(time, before);
    ck_assert_int_le(time, timestamp_now());
    ck_assert_str_eq(field(line, "level"), "warn");
    ck_assert_str_eq(field(line, "event"), "database_away");
    ck_assert_str_eq(field(line, "reason"), "he said \"no\"\n\x01\xef\xbf\xbd");
    ck_assert(json_is_null(json_object_get(line, "state")));
    ck_assert_str_eq(field(line, "empty"), "");
    json_decref(line);
}
END_TEST

START_TEST(log_detail_is_formatted_and_cut)
{
    struct capture capture;
    capture_begin(&capture);
    log_detail(LOG_ERROR, "fault", "%s-%d", "a\"b", 7);
    json_t *line = only_line(&capture);
    ck_assert_str_eq(field(line, "detail"), "a\"b-7");
    ck_assert_str_eq(field(line, "level"), "error");
    json_decref(line);
    log_detail(LOG_ERROR, "fault", "%02000d", 1);
    line = only_line(&capture);
    capture_end(&capture);
    ck_assert_uint_eq(strlen(field(line, "detail")), 1023);
    json_decref(line);
}
END_TEST

START_TEST(log_level_hides_what_is_below_it)
{
    static const char *const names[] = {"debug", "info", "warn", "error", "off"};
    struct capture capture;
    capture_begin(&capture);
    for (int set = LOG_DEBUG; set <= LOG_OFF; set++) {
        enum log_level level = LOG_INFO;
        ck_assert(log_parse_level(names[set], &level));
        ck_assert_int_eq(level, set);
        log_set_level(level);
        for (int used = LOG_DEBUG; used <= LOG_OFF; used++) {
            bool expected = used >= set && used != LOG_OFF;
            ck_assert_int_eq(log_enabled((enum log_level)used), expected);
            log_event((enum log_level)used, "e", NULL);
            log_detail((enum log_level)used, "e", "%d", 1);
            struct buffer out = {0};
            drain(&capture, &out);
            ck_assert_int_eq(out.size > 0, expected);
            buffer_free(&out);
        }
    }
    log_set_level(LOG_INFO);
    capture_end(&capture);
    enum log_level level = LOG_WARN;
    ck_assert(!log_parse_level("", &level));
    ck_assert(!log_parse_level("INFO", &level));
    ck_assert(!log_parse_level("infos", &level));
    ck_assert_int_eq(level, LOG_WARN);
}
END_TEST

static void write_numbered_line(int number)
{
    char line[128];
    int size = snprintf(line, sizeof line, "{\"number\":%d,\"padding\":\"%050d\"}\n", number, 0);
    log_write(line, (size_t)size);
}

// Reads the whole log, checks each line, and gives the sum of the lines there are and the lines it says were
// dropped.
static int64_t account_of(struct bytes text)
{
    int64_t lines = 0;
    while (text.size > 0) {
        struct bytes line = next_line(&text);
        json_t *object = json_loadb((const char *)line.data, line.size, 0, NULL);
        ck_assert_msg(object != NULL, "%.*s", (int)line.size, (const char *)line.data);
        json_t *dropped = json_object_get(object, "lines");
        if (dropped) {
            ck_assert_str_eq(field(object, "event"), "log_lines_dropped");
            lines += json_integer_value(dropped);
        } else {
            ck_assert_ptr_nonnull(json_object_get(object, "number"));
            lines++;
        }
        json_decref(object);
    }
    return lines;
}

START_TEST(log_drops_and_counts_lines_that_nobody_reads)
{
    struct capture capture;
    struct buffer out = {0};
    capture_begin(&capture);
    int number = 0;
    for (int round = 0; round < 5; round++) {
        int64_t start = timestamp_monotonic();
        for (int i = 0; i < 1000; i++)
            write_numbered_line(number++);
        ck_assert_int_lt(timestamp_monotonic() - start, 10000000);
        drain(&capture, &out);
    }
    write_numbered_line(number++);
    drain(&capture, &out);
    capture_end(&capture);
    ck_assert_ptr_nonnull(memmem(out.data, out.size, "log_lines_dropped", 17));
    ck_assert_int_eq(account_of(buffer_view(&out)), number);
    buffer_free(&out);
}
END_TEST

START_TEST(log_writes_many_lines_at_once)
{
    struct capture capture;
    struct buffer lines = {0};
    struct buffer out = {0};
    for (int i = 0; i < 500; i++)
        buffer_printf(&lines, "{\"number\":%d,\"padding\":\"%*d\"}\n", i, 1 + i % 60, 0);
    capture_begin(&capture);
    log_write(lines.data, lines.size);
    drain(&capture, &out);
    write_numbered_line(500);
    drain(&capture, &out);
    capture_end(&capture);
    ck_assert_int_eq(account_of(buffer_view(&out)), 501);
    buffer_free(&lines);
    buffer_free(&out);
}
END_TEST

START_TEST(log_begins_a_new_line_after_one_that_was_cut)
{
    struct capture capture;
    struct buffer lines = {0};
    struct buffer out = {0};
    buffer_printf(&lines, "{\"cut\":\"%020000d\"}\n", 0);
    capture_begin(&capture);
    log_write(lines.data, lines.size);
    drain(&capture, &out);
    ck_assert_uint_gt(out.size, 0);
    ck_assert_uint_lt(out.size, lines.size);
    write_numbered_line(1);
    drain(&capture, &out);
    capture_end(&capture);
    struct bytes text = buffer_view(&out);
    ck_assert_int_eq(memcmp(next_line(&text).data, "{\"cut\"", 6), 0);
    ck_assert_int_eq(account_of(text), 2);
    buffer_free(&lines);
    buffer_free(&out);
}
END_TEST

START_TEST(log_goes_on_after_its_reader_is_gone)
{
    struct capture capture;
    struct buffer out = {0};
    capture_begin(&capture);
    close(capture.read_end);
    for (int i = 0; i < 100; i++)
        write_numbered_line(i);
    capture.read_end = dup(capture.saved);
    capture_end(&capture);
    capture_begin(&capture);
    write_numbered_line(100);
    drain(&capture, &out);
    capture_end(&capture);
    ck_assert_int_eq(account_of(buffer_view(&out)), 101);
    buffer_free(&out);
}
END_TEST

START_TEST(log_never_waits_for_a_full_socket)
{
    struct capture capture;
    struct buffer out = {0};
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ck_assert_int_eq(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    int size = 4096;
    ck_assert_int_eq(setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof size), 0);
    capture.read_end = ends[0];
    capture_into(&capture, ends[1]);
    int64_t start = timestamp_monotonic();
    for (int i = 0; i < 10000; i++)
        write_numbered_line(i);
    ck_assert_int_lt(timestamp_monotonic() - start, 20000000);
    drain(&capture, &out);
    write_numbered_line(10000);
    drain(&capture, &out);
    capture_end(&capture);
    ck_assert_ptr_nonnull(memmem(out.data, out.size, "log_lines_dropped", 17));
    buffer_free(&out);
}
END_TEST

static void *write_many(void *argument)
{
    int first = *(int *)argument;
    for (int i = 0; i < 500; i++)
        write_numbered_line(first + i);
    return NULL;
}

START_TEST(log_lines_of_many_threads_stay_whole)
{
    enum { THREADS = 4 };
    struct capture capture;
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    capture.read_end = dup(fileno(file));
    capture_into(&capture, dup(fileno(file)));
    pthread_t threads[THREADS];
    int firsts[THREADS];
    for (int i = 0; i < THREADS; i++) {
        firsts[i] = i * 1000;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, write_many, &firsts[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    struct buffer out = {0};
    ck_assert_int_eq(lseek(capture.read_end, 0, SEEK_SET), 0);
    drain(&capture, &out);
    capture_end(&capture);
    ck_assert_int_eq(account_of(buffer_view(&out)), THREADS * 500);
    buffer_free(&out);
    fclose(file);
}
END_TEST

Suite *log_suite(void)
{
    const TTest *tests[] = {
        log_event_is_one_line_of_json,        log_detail_is_formatted_and_cut,
        log_level_hides_what_is_below_it,     log_drops_and_counts_lines_that_nobody_reads,
        log_writes_many_lines_at_once,        log_begins_a_new_line_after_one_that_was_cut,
        log_goes_on_after_its_reader_is_gone, log_never_waits_for_a_full_socket,
        log_lines_of_many_threads_stay_whole, NULL,
    };
    return suite_of("log", tests);
}
