// `holdfast list`: the names of buckets, or the keys and entries of a branch.
#include "client/answer.h"
#include "client/arguments.h"
#include "client/entry_commands.h"
#include "client/exit_code.h"
#include "client/pages.h"
#include "client/place.h"

#include "base/json_member.h"
#include "base/text.h"

#include <stdio.h>

enum { PAGE = 1000 };

struct listing {
    const struct arguments *arguments;
    struct connection connection;
    struct target target;
    size_t plain; // of the target without what names a page
    const char *member;
    int64_t left; // -1: no limit
};

// The text of a name in a list: `key`, or what `key_base64` stands for.
static struct bytes shown_name(struct arena *arena, struct bytes item)
{
    struct bytes text, name = {0};
    if (json_member(item, "name", &text) || json_member(item, "key", &text))
        json_string_decode(arena, text, &name);
    else if (json_member(item, "key_base64", &text) && text.size >= 2)
        text_base64_decode(arena, bytes_make(text.data + 1, text.size - 2), &name);
    return name;
}

static void print_item(const struct listing *listing, struct bytes item)
{
    struct arena arena = {0};
    struct bytes shown = listing->arguments->json ? item : shown_name(&arena, item);
    fwrite(shown.data ? shown.data : (const uint8_t *)"", 1, shown.size, stdout);
    putchar(listing->arguments->null ? 0 : '\n');
    arena_free(&arena);
}

static int unreadable(void)
{
    fputs("holdfast: the answer is no list: is this a Holdfast service?\n", stderr);
    return EXIT_FAILED;
}

// A page and the next one's cursor; `*cursor` is NULL behind the last.
static int print_page(struct listing *listing, const char **cursor)
{
    struct reply reply = {0};
    struct page page;
    struct bytes item;
    if (!connection_ask(&listing->connection, "GET", target_text(&listing->target), NO_BODY, 0, &reply))
        return answer_missing(&listing->connection, false);
    int code = reply.status == 200 ? EXIT_DONE : answer_refused(listing->arguments, &reply);
    if (code == EXIT_DONE && !page_read(&reply, listing->member, &listing->connection.arena, &page))
        code = unreadable();
    if (code == EXIT_DONE) {
        while (json_array_next(&page.items, &item))
            print_item(listing, item);
        *cursor = page.cursor;
    }
    reply_free(&reply);
    return code;
}

static void add_number(struct target *target, const char *name, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    target_query(target, name, bytes_of(text));
}

static int print_all(struct listing *listing)
{
    const char *cursor = NULL;
    int code;
    listing->plain = listing->target.text.size;
    bool asked = listing->target.asked;
    do {
        int64_t page = listing->left >= 0 && listing->left < PAGE ? listing->left : PAGE;
        listing->target.text.size = listing->plain;
        listing->target.asked = asked;
        add_number(&listing->target, "limit", page);
        if (cursor)
            target_query(&listing->target, "cursor", bytes_of(cursor));
        code = print_page(listing, &cursor);
        if (listing->left > 0)
            listing->left -= page;
    } while (code == EXIT_DONE && cursor && listing->left != 0);
    if (code == EXIT_DONE && !print_bytes(NO_BODY))
        code = EXIT_FAILED;
    return code;
}

static void aim_at_buckets(struct listing *listing)
{
    listing->member = "buckets";
    target_begin(&listing->target, "/v1/buckets");
}

static bool aim_at_entries(struct listing *listing)
{
    const struct arguments *arguments = listing->arguments;
    const char *text = arguments->alone_count ? arguments->alone[0] : "";
    const char *slash = arguments->bucket ? NULL : strchr(text, '/');
    const char *prefix = arguments->bucket ? text : slash ? slash + 1 : "";
    size_t size = slash ? (size_t)(slash - text) : strlen(text);
    struct place place = {.bucket = arguments->bucket ? bytes_of(arguments->bucket) : bytes_make(text, size)};
    if (!place.bucket.size) {
        fputs("holdfast: the name of the bucket is empty\n", stderr);
        return false;
    }
    for (int i = 0; i < arguments->under.count; i++)
        place.owners[place.owner_count++] = bytes_of(arguments->under.texts[i]);
    listing->member = "entries";
    target_place(&listing->target, "buckets", &place, "entries", NULL);
    if (*prefix)
        target_query(&listing->target, "prefix", bytes_of(prefix));
    if (arguments->start)
        target_query(&listing->target, "start", bytes_of(arguments->start));
    if (arguments->end)
        target_query(&listing->target, "end", bytes_of(arguments->end));
    if (arguments->contains)
        target_query(&listing->target, "contains", bytes_of(arguments->contains));
    if (arguments->fork)
        target_query(&listing->target, "fork", bytes_of(arguments->fork));
    target_query(&listing->target, "values", bytes_of(arguments->values ? "true" : "false"));
    return true;
}

int list_command(const struct arguments *arguments)
{
    struct listing listing = {.arguments = arguments, .left = arguments->limit ? arguments->limit : -1};
    if (!connection_begin(&listing.connection, arguments))
        return connection_misused(&listing.connection);
    if (!arguments->alone_count && !arguments->bucket)
        aim_at_buckets(&listing);
    else if (!aim_at_entries(&listing))
        return connection_misused(&listing.connection);
    int code = print_all(&listing);
    buffer_free(&listing.target.text);
    connection_end(&listing.connection);
    return code;
}
