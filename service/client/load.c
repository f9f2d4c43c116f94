// `holdfast load`: what a dump has, in transactions of many entries, several at once.
#include "client/answer.h"
#include "client/arguments.h"
#include "client/exit_code.h"
#include "client/load_lines.h"
#include "client/load_state.h"
#include "client/many_commands.h"
#include "client/progress.h"
#include "client/wait.h"

#include "base/json_member.h"
#include "base/text.h"
#include "base/timestamp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
    MOST_OPERATIONS = 500,
    MOST_VALUES = 100000,
    MOST_BYTES = 1 << 20,
    ATTEMPTS = 12,
    STATE_STEP = 500 * 1000,
};

// A transaction, from when it is filled until it is answered.
struct job {
    CURL *curl;
    struct curl_slist *headers;
    struct buffer body;
    struct buffer starts; // size_t each: where in the body the operations begin
    struct reply reply;
    size_t operations;
    size_t values;
    struct load_reach start; // in the input, of its first line
    bool busy;
    int attempts;
};

struct load {
    const struct arguments *arguments;
    struct connection connection;
    struct progress progress;
    struct load_lines lines;
    FILE *file;
    CURLM *multi;
    struct job *jobs;
    int count;
    struct job *filling;
    struct load_reach reach; // what was read of the input
    struct load_state state;
    bool fits; // the state is of this input
    int64_t line;
    int64_t entries;  // that were written
    int64_t expired;  // that were over before they were written
    int64_t refused;  // that the service did not take
    int64_t state_at; // when the state was written last
    int code;
};

// --- the state --------------------------------------------------------------------------------------------

// Up to where everything has been written: the begin of what is still under way.
static const struct load_reach *settled(const struct load *load)
{
    const struct load_reach *reach = &load->reach;
    for (int i = 0; i < load->count; i++) {
        const struct job *job = &load->jobs[i];
        if ((job->busy || job->operations > 0) && job->start.offset < reach->offset)
            reach = &job->start;
    }
    return reach;
}

static bool keep_state(struct load *load)
{
    load->state_at = timestamp_monotonic();
    return load_state_keep(&load->state, settled(load));
}

// To be called before each line and at the end: what is before it must be what the earlier load had read.
static bool check_state(struct load *load, bool ended)
{
    const struct load_state *state = &load->state;
    bool behind = load->reach.offset < state->offset && !ended;
    if (load->fits || behind)
        return true;
    load->fits = state->offset == 0 || load_state_fits(state, &load->reach);
    if (!load->fits) {
        fprintf(stderr, "holdfast: %s is the state of a load of something else\n", state->path);
        load->code = EXIT_USAGE;
    }
    return load->fits;
}

// --- transactions -----------------------------------------------------------------------------------------

static void send_job(struct load *load, struct job *job)
{
    reply_clear(&job->reply);
    curl_slist_free_all(job->headers);
    connection_header(&load->connection, "Content-Type", "application/json");
    job->headers = connection_take_headers(&load->connection);
    connection_prepare(&load->connection, job->curl, "POST", "/v1/transactions", buffer_view(&job->body),
                       true, job->headers);
    curl_easy_setopt(job->curl, CURLOPT_TIMEOUT_MS, (long)(load->connection.timeout / 1000));
    curl_easy_setopt(job->curl, CURLOPT_HEADERFUNCTION, reply_add_head);
    curl_easy_setopt(job->curl, CURLOPT_HEADERDATA, &job->reply);
    curl_easy_setopt(job->curl, CURLOPT_WRITEFUNCTION, reply_add_body);
    curl_easy_setopt(job->curl, CURLOPT_WRITEDATA, &job->reply);
    curl_easy_setopt(job->curl, CURLOPT_PRIVATE, job);
    job->busy = curl_multi_add_handle(load->multi, job->curl) == CURLM_OK;
}

static void empty_job(struct job *job)
{
    buffer_clear(&job->body);
    buffer_clear(&job->starts);
    job->operations = 0;
    job->values = 0;
    job->attempts = 0;
}

static struct bytes operation_of(const struct job *job, size_t number)
{
    const size_t *starts = (const size_t *)(const void *)job->starts.data;
    size_t end = number + 1 < job->operations ? starts[number + 1] - 1 : job->body.size - 2;
    return bytes_make(job->body.data + starts[number], end - starts[number]);
}

// Says which entry it was, as the dump names it.
static void tell_refused(struct bytes operation)
{
    static const char *const names[] = {"bucket", "under", "key", "key_base64"};
    struct buffer line = {0};
    struct bytes value;
    buffer_add_text(&line, "holdfast: not loaded:");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (json_member(operation, names[i], &value)) {
            buffer_printf(&line, " %s ", names[i]);
            buffer_add_bytes(&line, value);
        }
    buffer_add_char(&line, '\n');
    fwrite(line.data, 1, line.size, stderr);
    buffer_free(&line);
}

// What is wrong with one entry must not keep the others away: they are written one by one.
static void send_singly(struct load *load, struct job *job)
{
    struct buffer body = {0};
    for (size_t i = 0; i < job->operations; i++) {
        buffer_clear(&body);
        buffer_add_text(&body, "{\"operations\":[");
        buffer_add_bytes(&body, operation_of(job, i));
        buffer_add_text(&body, "]}");
        connection_header(&load->connection, "Content-Type", "application/json");
        if (!connection_ask(&load->connection, "POST", "/v1/transactions", buffer_view(&body), 0,
                            &job->reply)) {
            load->code = answer_missing(&load->connection, true);
            break;
        }
        if (job->reply.status == 200) {
            load->entries++;
            continue;
        }
        load->refused++;
        tell_refused(operation_of(job, i));
        int code = answer_refused(load->arguments, &job->reply);
        if (code == EXIT_UNAVAILABLE || job->reply.status == 401 || job->reply.status == 403) {
            load->code = code;
            break;
        }
    }
    buffer_free(&body);
}

static void job_answered(struct load *load, struct job *job, CURLcode result)
{
    long status = 0;
    curl_easy_getinfo(job->curl, CURLINFO_RESPONSE_CODE, &status);
    job->reply.status = result == CURLE_OK ? (int)status : 503;
    curl_multi_remove_handle(load->multi, job->curl);
    job->busy = false;
    if (job->reply.status == 200) {
        load->entries += (int64_t)job->operations;
        empty_job(job);
        return;
    }
    if (answer_code(&job->reply) == EXIT_UNAVAILABLE && ++job->attempts < ATTEMPTS) {
        // A put that is repeated puts the same.
        connection_use_next(&load->connection);
        wait_before_retry(job->attempts);
        send_job(load, job);
        return;
    }
    if (result != CURLE_OK) {
        fprintf(stderr, "holdfast: no answer: %s\n", curl_easy_strerror(result));
        load->code = EXIT_UNAVAILABLE;
    } else if (answer_code(&job->reply) == EXIT_UNAVAILABLE) {
        load->code = answer_refused(load->arguments, &job->reply);
    } else {
        send_singly(load, job);
    }
    if (load->code == EXIT_DONE)
        empty_job(job);
}

static void drive(struct load *load)
{
    int running, left;
    CURLMsg *message;
    curl_multi_perform(load->multi, &running);
    while ((message = curl_multi_info_read(load->multi, &left))) {
        struct job *job;
        if (message->msg != CURLMSG_DONE)
            continue;
        CURLcode result = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &job);
        job_answered(load, job, result);
    }
}

// Lets the service work until `enough`.
static void drive_until(struct load *load, bool (*enough)(const struct load *load))
{
    drive(load);
    while (load->code == EXIT_DONE && !enough(load)) {
        curl_multi_poll(load->multi, NULL, 0, 1000, NULL);
        drive(load);
    }
}

static struct job *free_job(const struct load *load)
{
    for (int i = 0; i < load->count; i++)
        if (!load->jobs[i].busy)
            return &load->jobs[i];
    return NULL;
}

static bool one_is_free(const struct load *load)
{
    return free_job(load) != NULL;
}

static bool none_is_busy(const struct load *load)
{
    for (int i = 0; i < load->count; i++)
        if (load->jobs[i].busy)
            return false;
    return true;
}

static void submit(struct load *load)
{
    struct job *job = load->filling;
    load->filling = NULL;
    if (!job)
        return;
    if (!job->operations) { // all of it had expired
        empty_job(job);
        return;
    }
    buffer_add_text(&job->body, "]}");
    send_job(load, job);
    drive(load);
    progress_show(&load->progress, load->entries, load->reach.offset);
    if (timestamp_monotonic() - load->state_at > STATE_STEP && !keep_state(load))
        load->code = EXIT_FAILED;
}

// Everything that was read is written.
static void settle(struct load *load)
{
    submit(load);
    drive_until(load, none_is_busy);
}

// --- lines ------------------------------------------------------------------------------------------------

static void broken(struct load *load)
{
    fprintf(stderr, "holdfast: line %lld is no line of a dump\n", (long long)load->line);
    load->code = EXIT_FAILED;
}

static void load_entry(struct load *load, struct bytes line, const struct load_reach *start)
{
    if (!load->filling) {
        drive_until(load, one_is_free);
        if (load->code != EXIT_DONE)
            return;
        load->filling = free_job(load);
        load->filling->start = *start; // all before it is on its way, or written
        buffer_add_text(&load->filling->body, "{\"operations\":[");
    }
    struct job *job = load->filling;
    size_t values, comma = job->operations ? 1 : 0, at = job->body.size + comma;
    if (comma)
        buffer_add_char(&job->body, ',');
    enum line_kind kind = load_line_operation(&load->lines, line, &job->body, &values);
    if (kind != LINE_ENTRY)
        job->body.size -= comma;
    if (kind == LINE_EXPIRED) {
        load->expired++;
    } else if (kind == LINE_ENTRY) {
        buffer_add(&job->starts, &at, sizeof at);
        job->operations++;
        job->values += values;
    } else {
        broken(load);
    }
    if (job->operations == MOST_OPERATIONS || job->values >= MOST_VALUES || job->body.size >= MOST_BYTES)
        submit(load);
}

static void load_name(struct load *load, struct bytes line, bool behind)
{
    struct buffer path = {0};
    struct reply reply = {0};
    struct bytes configuration;
    settle(load);
    if (load->code == EXIT_DONE && !load_line_name(&load->lines, line, &path, &configuration)) {
        broken(load);
    } else if (load->code == EXIT_DONE && !behind) {
        buffer_add_char(&path, 0);
        connection_header(&load->connection, "Content-Type", "application/json");
        if (!connection_ask(&load->connection, "PUT", (const char *)path.data, configuration, 0, &reply))
            load->code = answer_missing(&load->connection, true);
        else if (answer_code(&reply) != EXIT_DONE)
            load->code = answer_refused(load->arguments, &reply);
    }
    buffer_free(&path);
    reply_free(&reply);
}

static void load_line(struct load *load, struct bytes line, const struct load_reach *start)
{
    bool behind = start->offset < load->state.offset;
    enum line_kind kind = load_line_kind(line);
    if (kind == LINE_NAME)
        load_name(load, line, behind);
    else if (kind == LINE_ENTRY && !behind)
        load_entry(load, line, start);
    else if (kind == LINE_BROKEN)
        broken(load);
}

static void load_lines(struct load *load)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    while (load->code == EXIT_DONE && (size = getline(&line, &room, load->file)) > 0) {
        struct load_reach start = load->reach;
        size_t length = (size_t)size - (line[size - 1] == '\n');
        if (!check_state(load, false))
            break;
        load_reach_add(&load->reach, line, (size_t)size);
        load->line++;
        if (length)
            load_line(load, bytes_make(line, length), &start);
    }
    if (load->code == EXIT_DONE)
        check_state(load, true);
    if (ferror(load->file)) {
        fprintf(stderr, "holdfast: the dump cannot be read: %s\n", strerror(errno));
        load->code = EXIT_FAILED;
    }
    free(line);
}

// --- all of it --------------------------------------------------------------------------------------------

static bool begin(struct load *load)
{
    const struct arguments *arguments = load->arguments;
    const char *path = arguments->alone_count ? arguments->alone[0] : "-";
    struct stat state = {0};
    load->file = strcmp(path, "-") != 0 ? fopen(path, "rb") : stdin;
    if (!load->file) {
        fprintf(stderr, "holdfast: %s: %s\n", path, strerror(errno));
        return false;
    }
    fstat(fileno(load->file), &state);
    progress_begin(&load->progress, S_ISREG(state.st_mode) ? (int64_t)state.st_size : 0);
    load_reach_begin(&load->reach);
    load->multi = curl_multi_init();
    load->count = (int)arguments->jobs;
    load->jobs = calloc((size_t)load->count, sizeof *load->jobs);
    if (!load->multi || !load->jobs)
        abort();
    for (int i = 0; i < load->count; i++)
        load->jobs[i].curl = curl_easy_duphandle(load->connection.curl);
    return true;
}

static void end(struct load *load)
{
    for (int i = 0; i < load->count; i++) {
        struct job *job = &load->jobs[i];
        if (job->busy)
            curl_multi_remove_handle(load->multi, job->curl);
        curl_easy_cleanup(job->curl);
        curl_slist_free_all(job->headers);
        buffer_free(&job->body);
        buffer_free(&job->starts);
        reply_free(&job->reply);
    }
    free(load->jobs);
    curl_multi_cleanup(load->multi);
    arena_free(&load->lines.arena);
    if (load->file != stdin)
        fclose(load->file);
}

static void report(const struct load *load)
{
    fprintf(stderr, "holdfast: %lld entries were loaded", (long long)load->entries);
    if (load->expired)
        fprintf(stderr, ", %lld had expired", (long long)load->expired);
    if (load->refused)
        fprintf(stderr, ", %lld were refused", (long long)load->refused);
    fputc('\n', stderr);
}

int load_command(const struct arguments *arguments)
{
    struct load load = {.arguments = arguments};
    if (!connection_begin(&load.connection, arguments))
        return connection_misused(&load.connection);
    if (!load_state_read(&load.state, arguments->state, arguments->urls)) {
        connection_end(&load.connection);
        return EXIT_USAGE;
    }
    if (!begin(&load))
        return EXIT_FAILED;
    load_lines(&load);
    if (load.code == EXIT_DONE)
        settle(&load);
    progress_end(&load.progress, load.entries, load.reach.offset);
    if (load.fits && !keep_state(&load) && load.code == EXIT_DONE)
        load.code = EXIT_FAILED;
    report(&load);
    if (load.refused && load.code == EXIT_DONE)
        load.code = EXIT_FAILED;
    end(&load);
    connection_end(&load.connection);
    return load.code;
}
