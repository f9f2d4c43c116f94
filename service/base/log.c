// The log's one way out: whole lines to standard error, and a reader that stops reading never stops the
// service.
//
// Standard error may be a pipe that is full. Its own flags are left alone, since other processes share them;
// a pipe is opened a second time for writing without blocking, a socket is sent to without blocking, anything
// else is asked first. After a short wait the lines are dropped and counted, and the count is logged as soon
// as lines go out again.
#include "base/log.h"

#include "base/buffer.h"
#include "base/timestamp.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATIENCE_US = 20000 };

static const char *const level_names[] = {"debug", "info", "warn", "error", "off"};

static _Atomic enum log_level threshold = LOG_INFO;

void log_set_level(enum log_level level)
{
    atomic_store_explicit(&threshold, level, memory_order_relaxed);
}

bool log_enabled(enum log_level level)
{
    return level != LOG_OFF && level >= atomic_load_explicit(&threshold, memory_order_relaxed);
}

bool log_parse_level(const char *text, enum log_level *level)
{
    for (int i = LOG_DEBUG; i <= LOG_OFF; i++)
        if (strcmp(text, level_names[i]) == 0) {
            *level = (enum log_level)i;
            return true;
        }
    return false;
}

static void begin_line(struct buffer *line, enum log_level level, const char *event)
{
    char time[TIMESTAMP_SIZE];
    timestamp_format(timestamp_now(), time);
    buffer_printf(line, "{\"time\":\"%s\",\"level\":\"%s\",\"event\":", time, level_names[level]);
    buffer_add_json(line, bytes_of(event));
}

static void add_field(struct buffer *line, const char *name, const char *value)
{
    buffer_add_char(line, ',');
    buffer_add_json(line, bytes_of(name));
    buffer_add_char(line, ':');
    if (value)
        buffer_add_json(line, bytes_of(value));
    else
        buffer_add_text(line, "null");
}

static void add_fields(struct buffer *line, va_list args)
{
    for (const char *name; (name = va_arg(args, const char *));)
        add_field(line, name, va_arg(args, const char *));
}

static void add_number(struct buffer *line, const char *name, int64_t number)
{
    buffer_add_char(line, ',');
    buffer_add_json(line, bytes_of(name));
    buffer_add_char(line, ':');
    buffer_add_int64(line, number);
}

static void finish_line(struct buffer *line)
{
    buffer_add_text(line, "}\n");
    log_write(line->data, line->size);
    buffer_free(line);
}

void log_event(enum log_level level, const char *event, ...)
{
    if (!log_enabled(level))
        return;
    struct buffer line = {0};
    begin_line(&line, level, event);
    va_list args;
    va_start(args, event);
    add_fields(&line, args);
    va_end(args);
    finish_line(&line);
}

void log_took(enum log_level level, const char *event, int64_t operations, int64_t us, ...)
{
    if (!log_enabled(level))
        return;
    struct buffer line = {0};
    begin_line(&line, level, event);
    add_number(&line, "operations", operations);
    add_number(&line, "us", us);
    va_list args;
    va_start(args, us);
    add_fields(&line, args);
    va_end(args);
    finish_line(&line);
}

void log_detail(enum log_level level, const char *event, const char *format, ...)
{
    if (!log_enabled(level))
        return;
    char detail[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    struct buffer line = {0};
    begin_line(&line, level, event);
    add_field(&line, "detail", detail);
    finish_line(&line);
}

// Everything below is one for the process and changed only under `mutex`.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct {
    struct stat target; // what standard error was when the sink was chosen
    bool chosen;
    int fd;
    bool socket;
    bool blocks;      // neither a file nor to be written without blocking: asked for room first
    bool pieces;      // a pipe or a terminal: see piece_size
    int64_t deadline; // until when the lines being written may wait, by the monotonic clock
    bool stuck;       // the last lines were dropped: the next ones do not wait
    bool torn;        // a line was cut: the next begins on a new line
    int64_t dropped;
} sink;

static void choose_sink(void)
{
    struct stat target;
    if (fstat(STDERR_FILENO, &target) != 0)
        target = (struct stat){0};
    if (sink.chosen && target.st_dev == sink.target.st_dev && target.st_ino == sink.target.st_ino)
        return;
    if (sink.chosen && sink.fd != STDERR_FILENO)
        close(sink.fd);
    sink.target = target;
    sink.chosen = true;
    sink.socket = S_ISSOCK(target.st_mode);
    sink.pieces = !sink.socket && !S_ISREG(target.st_mode);
    sink.fd = S_ISFIFO(target.st_mode) ? open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    sink.blocks = sink.pieces && sink.fd < 0;
    if (sink.fd < 0)
        sink.fd = STDERR_FILENO;
}

static ssize_t write_piece(const uint8_t *data, size_t size)
{
    return sink.socket ? send(sink.fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL) : write(sink.fd, data, size);
}

static int milliseconds_left(void)
{
    int64_t left = sink.deadline - timestamp_monotonic();
    return left > 0 ? (int)(left / 1000) + 1 : 0;
}

static bool wait_for_room(void)
{
    struct pollfd room = {.fd = sink.fd, .events = POLLOUT};
    int ready;
    do
        ready = poll(&room, 1, milliseconds_left());
    while (ready < 0 && errno == EINTR);
    return ready > 0;
}

// How much to write at once: all of it, but to a pipe whole lines of no more than PIPE_BUF, since so much
// goes whole or not at all and the lines of several processes stay apart.
static size_t piece_size(const uint8_t *data, size_t size)
{
    if (!sink.pieces || size <= PIPE_BUF)
        return size;
    const uint8_t *line_end = memrchr(data, '\n', PIPE_BUF);
    return line_end ? (size_t)(line_end - data) + 1 : PIPE_BUF;
}

// After a write that failed, by errno.
static bool worth_another_try(void)
{
    return errno == EINTR || (errno == EAGAIN && milliseconds_left() > 0 && wait_for_room());
}

// Writes as much as goes without waiting long and gives how much that was.
static size_t write_all(const uint8_t *data, size_t size)
{
    size_t done = 0;
    while (done < size && (!sink.blocks || wait_for_room())) {
        ssize_t written = write_piece(data + done, piece_size(data + done, size - done));
        if (written > 0)
            done += (size_t)written;
        else if (written == 0 || !worth_another_try())
            break;
    }
    return done;
}

static int64_t count_lines(const uint8_t *data, size_t size)
{
    int64_t lines = 0;
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    return lines;
}

// Writes `lines` and keeps account of what did not go out. Gives whether all went.
static bool send_lines(const uint8_t *lines, size_t size)
{
    if (sink.torn && write_all((const uint8_t *)"\n", 1) == 1)
        sink.torn = false;
    size_t done = sink.torn ? 0 : write_all(lines, size);
    sink.stuck = done < size;
    if (done > 0 && sink.stuck)
        sink.torn = lines[done - 1] != '\n';
    sink.dropped += count_lines(lines + done, size - done);
    return !sink.stuck;
}

static void report_dropped(void)
{
    struct buffer line = {0};
    int64_t dropped = sink.dropped;
    begin_line(&line, LOG_WARN, "log_lines_dropped");
    buffer_printf(&line, ",\"lines\":%lld}\n", (long long)dropped);
    // A report that does not go out is not one of the lines that were lost.
    sink.dropped = send_lines(line.data, line.size) ? 0 : dropped;
    buffer_free(&line);
}

void log_write(const void *lines, size_t size)
{
    if (size == 0)
        return;
    int saved = errno;
    pthread_mutex_lock(&mutex);
    choose_sink();
    sink.deadline = timestamp_monotonic() + (sink.stuck ? 0 : PATIENCE_US);
    if (sink.dropped > 0)
        report_dropped();
    send_lines(lines, size);
    pthread_mutex_unlock(&mutex);
    errno = saved;
}
