// `holdfast dump`: every name with its configuration and every entry, a line of JSON each, a page at a time.
#include "client/answer.h"
#include "client/arguments.h"
#include "client/dump_lines.h"
#include "client/exit_code.h"
#include "client/many_commands.h"
#include "client/pages.h"
#include "client/place.h"
#include "client/progress.h"
#include "client/wait.h"

#include "base/json_member.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ATTEMPTS = 12 };

struct dump {
    const struct arguments *arguments;
    struct connection connection;
    struct progress progress;
    FILE *file;
    struct buffer lines; // of the page under way
    int64_t entries;
    int64_t bytes;
    int64_t corrupt;
    struct arena page; // what is known of the page under way
    bool resumed;      // nothing is written for the names before the checkpoint's
    struct dump_checkpoint checkpoint;
};

// --- pages ------------------------------------------------------------------------------------------------

// Asks again while the service is away: reading twice does no harm.
static int fetch(struct dump *dump, const char *target, const char *member, struct reply *reply,
                 struct page *page)
{
    bool answered = false;
    for (int attempt = 1; attempt <= ATTEMPTS; attempt++) {
        answered = connection_ask(&dump->connection, "GET", target, NO_BODY, 0, reply);
        if (answered && answer_code(reply) != EXIT_UNAVAILABLE)
            break;
        wait_before_retry(attempt);
    }
    if (!answered)
        return answer_missing(&dump->connection, false);
    if (reply->status != 200)
        return answer_refused(dump->arguments, reply);
    if (page_read(reply, member, &dump->page, page))
        return EXIT_DONE;
    fputs("holdfast: the answer is no list: is this a Holdfast service?\n", stderr);
    return EXIT_FAILED;
}

static bool write_lines(struct dump *dump)
{
    bool written =
        fwrite(dump->lines.data, 1, dump->lines.size, dump->file) == dump->lines.size && !fflush(dump->file);
    if (!written && dump->file != stdout) // of that one it is told when it ends
        fprintf(stderr, "holdfast: the dump cannot be written: %s\n", strerror(errno));
    dump->bytes += (int64_t)dump->lines.size;
    buffer_clear(&dump->lines);
    return written;
}

// --- entries ----------------------------------------------------------------------------------------------

static bool add_entry(struct dump *dump, struct bytes bucket, struct bytes entry)
{
    switch (dump_line_entry(&dump->lines, bucket, entry)) {
    case DUMP_WRITTEN:
        dump->entries++;
        return true;
    case DUMP_CORRUPT:
        dump->corrupt++;
        return true;
    case DUMP_BROKEN:
        break;
    }
    fputs("holdfast: an entry is not as the service gives it, or a value has another size than the service "
          "says\n",
          stderr);
    return false;
}

static const char *only(const struct dump *dump)
{
    return dump->arguments->alone_count ? dump->arguments->alone[0] : NULL;
}

static int dump_page(struct dump *dump, struct bytes bucket, const char *target, struct reply *reply,
                     struct page *page)
{
    struct bytes entry;
    int code = fetch(dump, target, "entries", reply, page);
    if (code != EXIT_DONE)
        return code;
    while (json_array_next(&page->items, &entry))
        if (!add_entry(dump, bucket, entry))
            return EXIT_FAILED;
    dump_line_checkpoint(&dump->lines, bucket, page->cursor, only(dump));
    if (!write_lines(dump))
        return EXIT_FAILED;
    progress_show(&dump->progress, dump->entries, dump->bytes);
    return EXIT_DONE;
}

static int dump_entries(struct dump *dump, struct bytes bucket, struct bytes cursor)
{
    struct reply reply = {0};
    struct target target = {0};
    struct page page = {0};
    struct buffer from = {0};
    int code;
    buffer_add_bytes(&from, cursor);
    do {
        target_place(&target, "buckets", &(struct place){.bucket = bucket}, "entries", NULL);
        target_query(&target, "below", bytes_of("true"));
        target_query(&target, "metadata", bytes_of("true"));
        target_query(&target, "limit", bytes_of("1000"));
        if (from.size)
            target_query(&target, "cursor", buffer_view(&from));
        code = dump_page(dump, bucket, target_text(&target), &reply, &page);
        buffer_clear(&from);
        if (code == EXIT_DONE && page.cursor)
            buffer_add_text(&from, page.cursor);
        arena_free(&dump->page);
    } while (code == EXIT_DONE && from.size);
    buffer_free(&from);
    buffer_free(&target.text);
    reply_free(&reply);
    return code;
}

// --- names ------------------------------------------------------------------------------------------------

// Names come in the order of their bytes.
static bool comes_before(struct bytes a, struct bytes b)
{
    int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
    return order < 0 || (order == 0 && a.size < b.size);
}

static int dump_name(struct dump *dump, struct bytes name, struct bytes item)
{
    struct bytes kind, cursor = {0};
    if (dump->resumed && comes_before(name, dump->checkpoint.bucket))
        return EXIT_DONE;
    bool taken_up =
        dump->resumed && bytes_equal(name, dump->checkpoint.bucket); // else it was dropped meanwhile
    dump->resumed = false;
    if (taken_up && !dump->checkpoint.cursor.data)
        return EXIT_DONE;
    if (taken_up)
        cursor = dump->checkpoint.cursor;
    else {
        buffer_add_bytes(&dump->lines, item);
        buffer_add_char(&dump->lines, '\n');
    }
    bool entries = json_member(item, "kind", &kind) && bytes_is(kind, "\"bucket\"");
    if (entries)
        return dump_entries(dump, name, cursor);
    return write_lines(dump) ? EXIT_DONE : EXIT_FAILED;
}

// The list of names stays in memory; a name has at most 128 bytes.
static int collect_names(struct dump *dump, struct buffer *items)
{
    struct reply reply = {0};
    struct target target = {0};
    struct page page = {0};
    struct bytes item;
    int code;
    do {
        target_begin(&target, "/v1/buckets");
        target_query(&target, "limit", bytes_of("1000"));
        if (page.cursor)
            target_query(&target, "cursor", bytes_of(page.cursor));
        code = fetch(dump, target_text(&target), "buckets", &reply, &page);
        while (code == EXIT_DONE && json_array_next(&page.items, &item)) {
            buffer_add_bytes(items, item);
            buffer_add_char(items, '\n');
        }
    } while (code == EXIT_DONE && page.cursor);
    buffer_free(&target.text);
    reply_free(&reply);
    return code;
}

static bool is_wanted(const struct dump *dump, struct bytes name)
{
    return !only(dump) || bytes_is(name, only(dump));
}

static int dump_names(struct dump *dump)
{
    struct buffer items = {0};
    struct arena arena = {0};
    int64_t found = 0;
    int code = collect_names(dump, &items);
    for (size_t at = 0; at < items.size && code == EXIT_DONE;) {
        const uint8_t *line = items.data + at;
        size_t size = (size_t)((const uint8_t *)memchr(line, '\n', items.size - at) - line);
        struct bytes text, name;
        at += size + 1;
        if (!json_member(bytes_make(line, size), "name", &text) || !json_string_decode(&arena, text, &name) ||
            !is_wanted(dump, name))
            continue;
        found++;
        code = dump_name(dump, name, bytes_make(line, size));
    }
    if (code == EXIT_DONE && !found && dump->arguments->alone_count) {
        fputs("holdfast: there is no bucket of this name\n", stderr);
        code = EXIT_ABSENT;
    }
    buffer_free(&items);
    arena_free(&arena);
    return code;
}

// --- the file ---------------------------------------------------------------------------------------------

// Finds the last checkpoint and cuts off what is behind it, unless the file is of another dump, which is left
// as it is. False, with errno, when it cannot.
static bool take_up(struct dump *dump)
{
    dump_checkpoint_find(dump->file, only(dump), &dump->checkpoint);
    dump->resumed = dump->checkpoint.end > 0;
    return dump->checkpoint.of_another || (ftruncate(fileno(dump->file), dump->checkpoint.end) == 0 &&
                                           fseeko(dump->file, dump->checkpoint.end, SEEK_SET) == 0);
}

static bool open_file(struct dump *dump)
{
    const char *path = dump->arguments->file;
    dump->file = stdout;
    if (!path || !strcmp(path, "-"))
        return true;
    dump->file = dump->arguments->resumes ? fopen(path, "r+b") : NULL;
    bool taken_up = dump->file != NULL;
    if (!taken_up)
        dump->file = fopen(path, "wb");
    if (dump->file && (!taken_up || take_up(dump)))
        return true;
    fprintf(stderr, "holdfast: %s: %s\n", path, strerror(errno));
    return false;
}

// A pipe or a device has nothing to sync.
static bool sync_file(FILE *file)
{
    return fsync(fileno(file)) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP;
}

static bool close_file(const struct dump *dump)
{
    if (dump->file == stdout)
        return true;
    bool synced = sync_file(dump->file);
    int fault = errno;
    bool closed = fclose(dump->file) == 0;
    errno = synced ? errno : fault;
    return synced && closed;
}

int dump_command(const struct arguments *arguments)
{
    struct dump dump = {.arguments = arguments};
    if (arguments->resumes && (!arguments->file || !strcmp(arguments->file, "-"))) {
        fputs("holdfast: --resume goes on with the --file of a dump that broke off\n", stderr);
        return EXIT_USAGE;
    }
    if (!connection_begin(&dump.connection, arguments))
        return connection_misused(&dump.connection);
    if (!open_file(&dump))
        return EXIT_FAILED;
    if (dump.checkpoint.of_another) {
        fprintf(stderr, "holdfast: %s is a dump of other buckets than these\n", arguments->file);
        fclose(dump.file);
        arena_free(&dump.checkpoint.arena);
        connection_end(&dump.connection);
        return EXIT_USAGE;
    }
    progress_begin(&dump.progress, 0);
    int code = dump_names(&dump);
    progress_end(&dump.progress, dump.entries, dump.bytes);
    if (!close_file(&dump) && code == EXIT_DONE) {
        fprintf(stderr, "holdfast: the dump cannot be written: %s\n", strerror(errno));
        code = EXIT_FAILED;
    }
    if (dump.corrupt) {
        fprintf(stderr, "holdfast: %lld entries are not in the dump: their values do not open\n",
                (long long)dump.corrupt);
        code = code == EXIT_DONE ? EXIT_FAILED : code;
    }
    buffer_free(&dump.lines);
    arena_free(&dump.page);
    arena_free(&dump.checkpoint.arena);
    connection_end(&dump.connection);
    return code;
}
