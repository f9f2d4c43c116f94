// Grants are read strictly: what is not understood must not pass for less, or more, than was meant.
#include "security/grant.h"

#include "base/path.h"
#include "base/text.h"

#include <stdlib.h>

static const char *const actions[] = {
    [GRANT_READ] = "read", [GRANT_WRITE] = "write", [GRANT_ADMIN] = "admin"};

static const struct kind_row {
    const char *word;
    const char *stored;
    bool has_branches;
} kinds[GRANT_KINDS] = {
    [GRANT_ANY_KIND] = {"*", NULL, true},
    [GRANT_BUCKETS] = {"buckets", "bucket", true},
    [GRANT_COUNTERS] = {"counters", "counter", true},
    [GRANT_RATE_LIMITS] = {"rate-limits", "rate_limit", true},
    [GRANT_RATE_GATES] = {"rate-gates", "rate_gate", true},
    [GRANT_QUOTAS] = {"quotas", "quota", true},
    [GRANT_ONCE] = {"once", "once", true},
    [GRANT_SESSIONS] = {"sessions", NULL, false},
    [GRANT_FORKS] = {"forks", NULL, false},
};

const char *grant_kind_word(enum grant_kind kind)
{
    return kinds[kind].word;
}

const char *grant_kind_stored(enum grant_kind kind)
{
    return kinds[kind].stored;
}

// --- parsing
// ----------------------------------------------------------------------------------------------------------

enum { SHORTEST_KEY = 2 }; // in a path: its mark and a byte

// Takes what lies before the first `mark` off the text; false, with nothing taken, when there is none.
static bool take_until(struct bytes *text, char mark, struct bytes *head)
{
    const uint8_t *at = text->size ? memchr(text->data, mark, text->size) : NULL;
    if (!at)
        return false;
    *head = bytes_make(text->data, (size_t)(at - text->data));
    *text = bytes_make(at + 1, text->size - head->size - 1);
    return true;
}

static bool parse_action(struct bytes *text, enum grant_action *action)
{
    struct bytes word;
    if (!take_until(text, ':', &word))
        return false;
    for (int i = GRANT_READ; i <= GRANT_ADMIN; i++)
        if (bytes_is(word, actions[i])) {
            *action = (enum grant_action)i;
            return true;
        }
    return false;
}

// Without a word it is a bucket.
static bool parse_kind(struct bytes *text, enum grant_kind *kind)
{
    struct bytes word;
    *kind = GRANT_BUCKETS;
    if (!take_until(text, ':', &word))
        return true;
    for (int i = GRANT_BUCKETS; i < GRANT_KINDS; i++)
        if (bytes_is(word, kinds[i].word)) {
            *kind = (enum grant_kind)i;
            return true;
        }
    return false;
}

static bool is_plain(struct bytes text)
{
    static const char reserved[] = "*/: ";
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] < 0x20 || text.data[i] == 0x7f ||
            memchr(reserved, text.data[i], sizeof reserved - 1))
            return false;
    return text_is_utf8(text);
}

static bool decode(struct arena *arena, struct bytes written, struct bytes *decoded)
{
    return is_plain(written) && text_percent_decode(arena, written, decoded);
}

static bool parse_name(struct arena *arena, struct bytes written, struct grant *grant, const char **reason)
{
    grant->begins = written.size && written.data[written.size - 1] == '*';
    written.size -= grant->begins;
    if (!decode(arena, written, &grant->name)) {
        *reason = "in a name, and in an owner, % * / : and spaces are written %XX; a * at its end covers all "
                  "that begin so";
        return false;
    }
    if (grant->name.size > GRANT_NAME_MOST || !text_is_utf8(grant->name) || text_has_control(grant->name) ||
        (!grant->name.size && !grant->begins)) {
        *reason = "a name is 1 to 128 bytes of UTF-8 without control characters";
        return false;
    }
    return true;
}

static bool parse_owners(struct arena *arena, struct bytes text, struct grant *grant, const char **reason)
{
    static const char member[] = "under=";
    struct bytes owners[PATH_MAX_OWNERS];
    size_t count = 0;
    bool more = true;
    while (more) {
        struct bytes part = text;
        more = take_until(&text, '/', &part);
        if (count == PATH_MAX_OWNERS || part.size < sizeof member - 1 ||
            memcmp(part.data, member, sizeof member - 1) != 0 ||
            !decode(arena, bytes_make(part.data + sizeof member - 1, part.size - sizeof member + 1),
                    &owners[count++])) {
            *reason = "a branch is /under=OWNER, as often as it has owners";
            return false;
        }
    }
    // A branch without room for a key covers nothing.
    if (path_encode_branch(arena, owners, count, &grant->branch) == PATH_OK &&
        grant->branch.size + SHORTEST_KEY <= PATH_MAX_BYTES)
        return true;
    *reason = "an owner has at least one byte, and all together leave room for a key within 1024 bytes";
    return false;
}

bool grant_parse(struct arena *arena, struct bytes text, struct grant *grant, const char **reason)
{
    *grant = (struct grant){0};
    if (text.size > GRANT_TEXT_MOST) {
        *reason = "a grant is at most 4096 bytes";
        return false;
    }
    text = arena_copy(arena, text);
    if (!parse_action(&text, &grant->action)) {
        *reason = "a grant begins with read:, write: or admin:";
        return false;
    }
    if (bytes_is(text, "*")) {
        grant->begins = true;
        return true;
    }
    struct bytes name = text;
    bool below = take_until(&text, '/', &name);
    if (!parse_kind(&name, &grant->kind)) {
        *reason = "before a colon stands a kind: buckets, counters, rate-limits, rate-gates, quotas, once, "
                  "sessions or forks";
        return false;
    }
    if (below && !kinds[grant->kind].has_branches) {
        *reason = "sessions and forks have no branches";
        return false;
    }
    return parse_name(arena, name, grant, reason) && (!below || parse_owners(arena, text, grant, reason));
}

// --- formatting
// -------------------------------------------------------------------------------------------------------

static void add_encoded(struct buffer *out, struct bytes raw)
{
    static const char digits[] = "0123456789ABCDEF";
    static const char reserved[] = "%*/: ";
    bool utf8 = text_is_utf8(raw) && !text_has_control(raw);
    for (size_t i = 0; i < raw.size; i++) {
        uint8_t c = raw.data[i];
        if (c > 0x20 && c != 0x7f && (c < 0x80 || utf8) && !memchr(reserved, c, sizeof reserved - 1)) {
            buffer_add_char(out, (char)c);
            continue;
        }
        buffer_add_char(out, '%');
        buffer_add_char(out, digits[c >> 4]);
        buffer_add_char(out, digits[c & 15]);
    }
}

// The owners of an encoded branch, by giving it a key and taking the path apart.
static void add_branch(struct buffer *out, struct bytes branch)
{
    struct arena arena = {0};
    struct bytes owners[PATH_MAX_OWNERS];
    struct bytes key;
    size_t count = 0;
    uint8_t *path = arena_alloc(&arena, branch.size + SHORTEST_KEY);
    memcpy(path, branch.data, branch.size);
    path[branch.size] = 1;
    path[branch.size + 1] = 'k';
    if (!path_decode(&arena, bytes_make(path, branch.size + SHORTEST_KEY), owners, &count, &key))
        abort(); // left out, it would be a grant for every branch
    for (size_t i = 0; i < count; i++) {
        buffer_add_text(out, "/under=");
        add_encoded(out, owners[i]);
    }
    arena_free(&arena);
}

void grant_format(struct buffer *out, const struct grant *grant)
{
    buffer_add_text(out, actions[grant->action]);
    buffer_add_char(out, ':');
    if (grant->kind > GRANT_BUCKETS || (grant->kind == GRANT_BUCKETS && !grant->name.size)) {
        buffer_add_text(out, kinds[grant->kind].word);
        buffer_add_char(out, ':');
    }
    add_encoded(out, grant->name);
    if (grant->begins)
        buffer_add_char(out, '*');
    if (grant->branch.size)
        add_branch(out, grant->branch);
}

// --- deciding
// ---------------------------------------------------------------------------------------------------------

static bool begins_with(struct bytes whole, struct bytes beginning)
{
    return whole.size >= beginning.size &&
           (!beginning.size || memcmp(whole.data, beginning.data, beginning.size) == 0);
}

bool grant_allows(const struct grant *grant, enum grant_action action, enum grant_kind kind,
                  struct bytes name, struct bytes path)
{
    if (grant->action < action || (grant->kind != GRANT_ANY_KIND && grant->kind != kind))
        return false;
    if (grant->begins ? !begins_with(name, grant->name) : !bytes_equal(name, grant->name))
        return false;
    return begins_with(path, grant->branch);
}
