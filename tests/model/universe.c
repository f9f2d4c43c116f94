// Names are chosen to collide in any encoding that is not exact: keys that look like owners, escapes, routes,
// markers of the stored path, or each other's prefix.
#include "model/universe.h"

#include <stdio.h>
#include <stdlib.h>

#define LITERAL(text)                                                                                        \
    {                                                                                                        \
        (const uint8_t *)(text), sizeof(text) - 1                                                            \
    }
#define KEY(text)                                                                                            \
    {                                                                                                        \
        .key = LITERAL(text)                                                                                 \
    }
#define UNDER(one, text)                                                                                     \
    {                                                                                                        \
        .owners = {LITERAL(one)}, .owner_count = 1, .key = LITERAL(text)                                     \
    }
#define UNDER2(one, two, text)                                                                               \
    {                                                                                                        \
        .owners = {LITERAL(one), LITERAL(two)}, .owner_count = 2, .key = LITERAL(text)                       \
    }
#define UNDER3(one, two, three, text)                                                                        \
    {                                                                                                        \
        .owners = {LITERAL(one), LITERAL(two), LITERAL(three)}, .owner_count = 3, .key = LITERAL(text)       \
    }

const struct universe_bucket universe_buckets[UNIVERSE_BUCKETS] = {
    {"plain", "any"},
    {"documents", "json"},
    {"numbers", "int"},
    {"flags", "bool"},
    {"members", "none"},
    {"b\xc3\xbc"
     "cher / %2F+?#",
     "any"},
    {"notes", "text"},
};

static const struct address fixed[] = {
    KEY("a"),
    KEY("A"),
    KEY("a/b"),
    KEY("a%2Fb"),
    KEY("a b"),
    KEY("a+b"),
    KEY("a%2Bb"),
    KEY(".."),
    KEY("."),
    KEY("a?b#c"),
    KEY("/v1/"),
    KEY("\0"),
    KEY("\0\0"),
    KEY("a\0"),
    KEY("\xff"),
    KEY("\xff\xfe\xc3"),
    KEY("\xc3\xa9"),
    KEY("e\xcc\x81"),
    KEY("entries"),
    KEY("\x01"),
    KEY("\x02o\x00\x01\x01k"),
    KEY("o\0\x01\x01k"),
    KEY("'; drop schema holdfast cascade; --"),
    KEY("{\"a\":[1]}"),
    KEY("\\x00"),
    UNDER("o", "a"),
    UNDER("o", "k"),
    UNDER("a", "o"),
    UNDER("o\0", "k"),
    UNDER("o\0\x01\x01k", "k"),
    UNDER("tenant 7", "a+b c"),
    UNDER("tenant+7", "a+b c"),
    UNDER("\xff", "\0"),
    UNDER2("o", "k", "a"),
    UNDER2("o", "a", "k"),
    UNDER2("k", "o", "a"),
    UNDER2("o\0\x01\x02k", "o", "a"),
    UNDER3("o", "k", "a", "a"),
    UNDER3("\0", "\0", "\0", "\0"),
};

enum {
    FIXED = sizeof fixed / sizeof fixed[0],
    LONGEST_KEY = 1024,
    OWNER_COST = 4, // what a branch of one owner of one byte takes from the longest key
    DRAWN_KEY = 24,
};

_Static_assert(FIXED + 3 <= UNIVERSE_ADDRESSES,
               "the fixed addresses, two longest keys and a drawn one have room");

void universe_draw(struct universe *universe, struct random *random)
{
    memcpy(universe->addresses, fixed, sizeof fixed);
    universe->drawn = malloc(2 * LONGEST_KEY + DRAWN_KEY * UNIVERSE_ADDRESSES);
    if (universe->drawn == NULL) {
        abort();
    }
    unsigned char *at = universe->drawn;
    memset(at, 'k', LONGEST_KEY);
    universe->addresses[FIXED] = (struct address){.key = {at, LONGEST_KEY}};
    at += LONGEST_KEY;
    random_bytes(random, at, LONGEST_KEY - OWNER_COST);
    universe->addresses[FIXED + 1] =
        (struct address){.owners = {LITERAL("o")}, .owner_count = 1, .key = {at, LONGEST_KEY - OWNER_COST}};
    at += LONGEST_KEY;
    for (size_t i = FIXED + 2; i < UNIVERSE_ADDRESSES; i++) {
        size_t size = 1 + random_below(random, DRAWN_KEY);
        random_bytes(random, at, size);
        universe->addresses[i] = (struct address){.key = {at, size}};
        at += DRAWN_KEY;
    }
}

void universe_free(struct universe *universe)
{
    free(universe->drawn);
}

static bool is_unreserved(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

struct spelling {
    bool everything; // encode what need not be encoded too
    bool lower;
    bool raw_plus; // of the path: a plus stands for itself
    bool plus;     // of the query: a space is a plus
};

static char *write_encoded(char *out, struct bytes raw, struct spelling spelling)
{
    // A lone `.` or `..` is a step to clients that tidy paths, so it is always encoded.
    bool dots = bytes_is(raw, ".") || bytes_is(raw, "..");
    for (size_t i = 0; i < raw.size; i++) {
        unsigned char c = raw.data[i];
        if ((is_unreserved(c) || (c == '+' && spelling.raw_plus)) && !spelling.everything && !dots) {
            *out++ = (char)c;
        } else if (c == ' ' && spelling.plus) {
            *out++ = '+';
        } else {
            out += sprintf(out, spelling.lower ? "%%%02x" : "%%%02X", c);
        }
    }
    *out = '\0';
    return out;
}

void universe_bucket_url(char url[UNIVERSE_URL], size_t bucket)
{
    char *out = url + sprintf(url, "/v1/buckets/");
    write_encoded(out, bytes_of(universe_buckets[bucket].name), (struct spelling){0});
}

void universe_url(char url[UNIVERSE_URL], size_t bucket, const struct address *address, const char *query,
                  struct random *random)
{
    struct spelling spelling = {random_chance(random, 20), random_chance(random, 30),
                                random_chance(random, 50), false};
    universe_bucket_url(url, bucket);
    char *out = url + strlen(url);
    out += sprintf(out, "/entries/");
    out = write_encoded(out, address->key, spelling);
    spelling.raw_plus = false;
    spelling.plus = random_chance(random, 50);
    char separator = '?';
    if (query != NULL) {
        out += sprintf(out, "?%s", query);
        separator = '&';
    }
    for (size_t i = 0; i < address->owner_count; i++) {
        out += sprintf(out, "%cunder=", separator);
        out = write_encoded(out, address->owners[i], spelling);
        separator = '&';
    }
}

struct samples {
    const char *type;
    struct bytes good[7];
    struct bytes bad[7];
};

// clang-format off
static const struct samples samples[] = {
    {"json",
     {LITERAL("[17000000000000000000,0.10,1e2,-0]"), LITERAL(" {\"a\" : 1}\n"), LITERAL("null"), LITERAL("\"\\u0000\""),
      LITERAL("{\"a\\u0000b\":1,\"a\\u0000c\":2}"), LITERAL("1e400"), LITERAL("\"\\ud83d\\ude00 \xe2\x82\xac\"")},
     {LITERAL(""), LITERAL("{"), LITERAL("01"), LITERAL("[1,]"), LITERAL("\"\xff\""), LITERAL("1 2"), LITERAL("'a'")}},
    {"int",
     {LITERAL("0"), LITERAL("-12"), LITERAL("9223372036854775807"), LITERAL("-9223372036854775808"), LITERAL("7"),
      LITERAL("42"), LITERAL("1000000")},
     {LITERAL("+1"), LITERAL("007"), LITERAL("1.0"), LITERAL("-0"), LITERAL("9223372036854775808"), LITERAL(""),
      LITERAL(" 1")}},
    {"bool",
     {LITERAL("true"), LITERAL("false"), LITERAL("true"), LITERAL("false"), LITERAL("true"), LITERAL("false"),
      LITERAL("true")},
     {LITERAL("True"), LITERAL("1"), LITERAL(""), LITERAL("true "), LITERAL("null"), LITERAL("\"true\""),
      LITERAL("yes")}},
    {"none",
     {LITERAL(""), LITERAL(""), LITERAL(""), LITERAL(""), LITERAL(""), LITERAL(""), LITERAL("")},
     {LITERAL("0"), LITERAL("null"), LITERAL(" "), LITERAL("\0"), LITERAL("{}"), LITERAL("x"), LITERAL("\n")}},
    {"text",
     {LITERAL(""), LITERAL("plain"), LITERAL("\xe2\x82\xac"), LITERAL("a\0b"), LITERAL("\xf0\x9f\x98\x80"),
      LITERAL("line\r\nline"), LITERAL("\x7f")},
     {LITERAL("\xff"), LITERAL("\xc3"), LITERAL("\xed\xa0\x80"), LITERAL("\xc0\x80"), LITERAL("\xf4\x90\x80\x80"),
      LITERAL("a\x80"), LITERAL("\xe2\x82")}},
};
// clang-format on

static struct bytes copy(struct bytes value)
{
    unsigned char *bytes = malloc(value.size + 1);
    if (bytes == NULL) {
        abort();
    }
    memcpy(bytes, value.data, value.size);
    return bytes_make(bytes, value.size);
}

static struct bytes arbitrary_value(struct random *random)
{
    static const size_t sizes[] = {0, 1, 20, 64, 65, 300, 2000, 70000, 300000};
    static const unsigned weights[] = {10, 15, 30, 10, 10, 15, 6, 3, 1};
    size_t drawn = random_below(random, 100);
    size_t i = 0;
    for (; drawn >= weights[i]; i++) {
        drawn -= weights[i];
    }
    unsigned char *bytes = malloc(sizes[i] + 1);
    if (bytes == NULL) {
        abort();
    }
    random_bytes(random, bytes, sizes[i]);
    return bytes_make(bytes, sizes[i]);
}

struct bytes universe_value(const char *for_type, bool *fits, struct random *random)
{
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        if (strcmp(samples[i].type, for_type) == 0) {
            *fits = random_chance(random, 85);
            const struct bytes *from = *fits ? samples[i].good : samples[i].bad;
            return copy(from[random_below(random, sizeof samples[i].good / sizeof samples[i].good[0])]);
        }
    }
    *fits = true;
    return arbitrary_value(random);
}

const char *universe_content_type(struct random *random)
{
    static const char *const types[] = {NULL, "application/json", "text/plain; charset=utf-8", "image/png",
                                        "application/vnd.example+json;v=\"1, 2\""};
    return types[random_below(random, sizeof types / sizeof types[0])];
}

const char *universe_note(struct random *random)
{
    static const char *const notes[] = {NULL, NULL, "first", "second, \"quoted\"; x=1"};
    return notes[random_below(random, sizeof notes / sizeof notes[0])];
}
