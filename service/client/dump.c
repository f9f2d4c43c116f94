// `holdfast dump`: every name with its configuration and every entry, a line of JSON each, a page at a time.
#include "client/answer.h"
#include "client/arguments.h"
#include "client/exit_code.h"
#include "client/many_commands.h"
#include "client/members.h"
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
    struct arena page;  // what is known of the page under way
    struct arena place; // and of where the dump is taken up
    bool of_another;    // the file is the dump of other buckets
    bool resumed;       // nothing is written for the names before this one
    struct bytes resume_bucket;
    struct bytes resume_cursor; // data NULL: the bucket is whole
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

static bool has_line_break(struct bytes text)
{
    return memchr(text.data, '\n', text.size) || memchr(text.data, '\r', text.size);
}

// The bytes of a JSON value as it is stored: white space around it, which the page has too, belongs to it.
static bool stored_value(struct bytes entry, struct bytes value, struct bytes *stored)
{
    struct bytes size_text;
    int64_t size;
    const uint8_t *end = entry.data + entry.size, *start = value.data;
    if (!json_member(entry, "size", &size_text) || !text_int64(size_text, &size))
        return false;
    while (start > entry.data && start[-1] != ':')
        start--;
    *stored = bytes_make(start, (size_t)size);
    return size > 0 && size < end - start && (start[size] == '}' || start[size] == ',');
}

static void add_base64(struct dump *dump, struct bytes raw)
{
    struct arena arena = {0};
    buffer_add_text(&dump->lines, "\"base64\":\"");
    buffer_add_bytes(&dump->lines, text_base64_encode(&arena, raw));
    buffer_add_char(&dump->lines, '"');
    arena_free(&arena);
}

// The entry with its value in base64, since a line cannot hold it as it is.
static void add_encoded(struct dump *dump, struct bytes entry, struct bytes value)
{
    struct members members;
    struct bytes name, member;
    bool more = false;
    members_begin(&members, entry);
    while (members_next(&members, &name, &member)) {
        if (more)
            buffer_add_char(&dump->lines, ',');
        more = true;
        if (bytes_is(name, "value")) {
            add_base64(dump, value);
            continue;
        }
        buffer_add_char(&dump->lines, '"');
        buffer_add_bytes(&dump->lines, name);
        buffer_add_text(&dump->lines, "\":");
        buffer_add_bytes(&dump->lines, member);
    }
}

static bool add_entry(struct dump *dump, struct bytes bucket, struct bytes entry)
{
    struct bytes value, stored = {0}, corrupt;
    bool spliced = json_member(entry, "value", &value);
    if (spliced && !stored_value(entry, value, &stored)) {
        fputs("holdfast: a value has another size than the service says\n", stderr);
        return false;
    }
    if (!spliced && json_member(entry, "corrupt", &corrupt)) {
        dump->corrupt++;
        return true;
    }
    dump->entries++;
    buffer_add_text(&dump->lines, "{\"kind\":\"entry\",\"bucket\":");
    buffer_add_json(&dump->lines, bucket);
    buffer_add_char(&dump->lines, ',');
    if (spliced && (stored.size != value.size || has_line_break(stored))) {
        add_encoded(dump, entry, stored);
        buffer_add_text(&dump->lines, "}\n");
    } else {
        buffer_add(&dump->lines, entry.data + 1, entry.size - 1);
        buffer_add_char(&dump->lines, '\n');
    }
    return true;
}

static void add_optional(struct dump *dump, const char *name, const char *text)
{
    buffer_printf(&dump->lines, ",\"%s\":", name);
    if (text)
        buffer_add_json(&dump->lines, bytes_of(text));
    else
        buffer_add_text(&dump->lines, "null");
}

// Where a dump that breaks off is taken up again, and of what it is.
static void add_checkpoint(struct dump *dump, struct bytes bucket, const char *cursor)
{
    buffer_add_text(&dump->lines, "{\"kind\":\"checkpoint\",\"bucket\":");
    buffer_add_json(&dump->lines, bucket);
    add_optional(dump, "cursor", cursor);
    add_optional(dump, "only", dump->arguments->alone_count ? dump->arguments->alone[0] : NULL);
    buffer_add_text(&dump->lines, "}\n");
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
    add_checkpoint(dump, bucket, page->cursor);
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
    if (dump->resumed && comes_before(name, dump->resume_bucket))
        return EXIT_DONE;
    bool taken_up = dump->resumed && bytes_equal(name, dump->resume_bucket); // else it was dropped meanwhile
    dump->resumed = false;
    if (taken_up && !dump->resume_cursor.data)
        return EXIT_DONE;
    if (taken_up)
        cursor = dump->resume_cursor;
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
    return !dump->arguments->alone_count || bytes_is(name, dump->arguments->alone[0]);
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

// Whether a dump of `only` (JSON: a name, or null) is what this one is.
static bool is_of_this(const struct dump *dump, struct bytes only)
{
    struct arena arena = {0};
    struct bytes name;
    bool named = json_string_decode(&arena, only, &name);
    bool same = named ? dump->arguments->alone_count && bytes_is(name, dump->arguments->alone[0])
                      : !dump->arguments->alone_count;
    arena_free(&arena);
    return same;
}

// Finds the last checkpoint, cuts off what is behind it, and notes it. False, with errno, when it cannot.
static bool find_checkpoint(struct dump *dump)
{
    static const char mark[] = "{\"kind\":\"checkpoint\"";
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    off_t at = 0, end = 0;
    struct bytes bucket, cursor, only, decoded;
    struct arena *arena = &dump->place;
    bool same = true;
    while ((size = getline(&line, &room, dump->file)) > 0 && line[size - 1] == '\n') {
        at += size;
        struct bytes text = bytes_make(line, (size_t)size - 1);
        if ((size_t)size < sizeof mark || memcmp(line, mark, sizeof mark - 1) != 0 ||
            json_check(text, 4) != JSON_VALID || !json_member(text, "bucket", &bucket) ||
            !json_member(text, "cursor", &cursor) || !json_member(text, "only", &only))
            continue;
        end = at;
        arena_free(arena);
        same = is_of_this(dump, only);
        if (!json_string_decode(arena, bucket, &decoded))
            continue;
        dump->resume_bucket = arena_copy(arena, decoded);
        dump->resume_cursor = (struct bytes){0};
        if (json_string_decode(arena, cursor, &decoded))
            dump->resume_cursor = arena_copy(arena, decoded);
    }
    free(line);
    dump->resumed = end > 0;
    dump->of_another = !same;
    if (!same)
        return true; // and leave it as it is
    return ftruncate(fileno(dump->file), end) == 0 && fseeko(dump->file, end, SEEK_SET) == 0;
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
    if (dump->file && (!taken_up || find_checkpoint(dump)))
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
    if (dump.of_another) {
        fprintf(stderr, "holdfast: %s is a dump of other buckets than these\n", arguments->file);
        fclose(dump.file);
        arena_free(&dump.place);
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
    arena_free(&dump.place);
    connection_end(&dump.connection);
    return code;
}
