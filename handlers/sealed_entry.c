// A sealed row's content type is \x01, the id of its key, and the content type itself, so that lists know it
// without the value and the database finds what is sealed with which key.
#include "handlers/sealed_entry.h"

#include "handlers/entry_call.h"
#include "security/key_ring.h"
#include "security/warrant.h"

enum { MARK_BYTES = 1 + KEY_ID_TEXT };

static const char lost_key[] = "the stored value was sealed with a key that this service does not have";
static const char altered[] = "the stored value was altered, or sealed for another place";
static const char unsealed[] = "the stored value is not sealed, and all of its bucket are";

struct bytes content_type_opened(struct bytes content_type)
{
    if (!content_type_sealed(content_type))
        return content_type;
    if (content_type.size <= MARK_BYTES)
        return (struct bytes){0};
    return bytes_make(content_type.data + MARK_BYTES, content_type.size - MARK_BYTES);
}

bool entry_sealed(const struct stored_entry *entry)
{
    struct declared_type declared;
    return content_type_sealed(entry->content_type) ||
           (declared_type_parse(entry->declared, &declared) && declared.encrypted);
}

size_t size_opened(struct bytes content_type, size_t size)
{
    if (!content_type_sealed(content_type))
        return size;
    return size > SEAL_OVERHEAD ? size - SEAL_OVERHEAD : 0;
}

// A fork may be claimed for its owner (fork_claim); the values in it are its own.
static struct bytes fork_of(struct bytes claim)
{
    const uint8_t *end = claim.size ? memchr(claim.data, 1, claim.size) : NULL;
    return end ? bytes_make(claim.data, (size_t)(end - claim.data)) : claim;
}

// --- opening
// ----------------------------------------------------------------------------------------------------------

static enum seal_verdict open_place(const struct key_ring *ring, struct seal_place *place,
                                    struct bytes sealed, uint8_t *out)
{
    enum seal_verdict verdict = seal_open(key_ring_keys(ring), place, sealed, out);
    // What a fork has not written it sees as the main data has it.
    if (verdict == SEAL_BROKEN && place->fork.size) {
        place->fork = (struct bytes){0};
        verdict = seal_open(key_ring_keys(ring), place, sealed, out);
    }
    return verdict;
}

static bool open_part(struct key_ring *ring, struct arena *arena, struct stored_entry *entry,
                      enum seal_purpose purpose, struct bytes *part)
{
    struct seal_place place = {purpose,
                               entry->bucket,
                               fork_of(entry->fork),
                               entry->path,
                               content_type_opened(entry->content_type),
                               entry->version};
    uint8_t *out = arena_alloc(arena, part->size + 1);
    enum seal_verdict verdict = open_place(ring, &place, *part, out);
    if (verdict == SEAL_NO_KEY && key_ring_missed(ring)) {
        place.fork = fork_of(entry->fork);
        verdict = open_place(ring, &place, *part, out);
    }
    entry->sealed_in = place.fork;
    entry->corrupt = verdict == SEAL_NO_KEY ? lost_key : altered;
    if (verdict != SEAL_OPENED)
        return false;
    *part = bytes_make(out, part->size - SEAL_OVERHEAD);
    return true;
}

// Whether there is metadata is bound to the value, so that it cannot be taken away.
static bool open_value(struct key_ring *ring, struct arena *arena, struct stored_entry *entry,
                       enum seal_purpose purpose)
{
    bool described = purpose == SEAL_VALUE && entry->metadata.size;
    return open_part(ring, arena, entry, described ? SEAL_DESCRIBED_VALUE : purpose, &entry->value) ||
           (purpose == SEAL_VALUE && entry->partial &&
            open_part(ring, arena, entry, SEAL_DESCRIBED_VALUE, &entry->value));
}

static bool open_sealed(struct context *context, struct arena *arena, struct stored_entry *entry,
                        enum seal_purpose purpose)
{
    if (!context->keys) {
        entry->corrupt = lost_key;
        return false;
    }
    if (entry->has_value && !open_value(context->keys, arena, entry, purpose))
        return false;
    if (entry->metadata.size && !open_part(context->keys, arena, entry, SEAL_METADATA, &entry->metadata))
        return false;
    entry->content_type = content_type_opened(entry->content_type);
    return true;
}

// Whether the service itself said that the bucket has entries which are not sealed yet: the database alone is
// not believed, or whoever writes to it could have a forged value taken, and sealed.
static bool is_warranted(const struct context *context, const struct stored_entry *entry,
                         struct bytes warrant)
{
    return content_type_sealed(entry->content_type) ||
           (context->keys &&
            warrant_holds(key_ring_keys(context->keys), WARRANT_SEAL, entry->bucket, warrant));
}

bool entry_open(struct context *context, struct arena *arena, struct stored_entry *entry)
{
    bool all_are_sealed = false;
    if (entry->declared.size) {
        struct declared_type declared;
        if (!declared_type_parse(entry->declared, &declared)) {
            entry->corrupt = "the bucket has a type that this version does not know";
            return false;
        }
        all_are_sealed =
            declared.encrypted && !(declared.sealing && is_warranted(context, entry, declared.warrant));
        entry->declared =
            declared.type == TYPE_ANY ? (struct bytes){0} : bytes_of(value_type_name(declared.type));
    }
    if (content_type_sealed(entry->content_type))
        return open_sealed(context, arena, entry, SEAL_VALUE);
    entry->corrupt = unsealed;
    return !all_are_sealed;
}

bool answer_open(struct context *context, struct arena *arena, struct stored_entry *answer)
{
    return !content_type_sealed(answer->content_type) || open_sealed(context, arena, answer, SEAL_ANSWER);
}

void reply_corrupt(struct request *request, const struct stored_entry *entry)
{
    log_event(LOG_ERROR, "corrupt", "request_id", request->id, "detail", entry->corrupt, NULL);
    reply_simple_problem(request, PROBLEM_CORRUPT, "%s", entry->corrupt);
}

// --- sealing
// ----------------------------------------------------------------------------------------------------------

bool sealing_possible(struct request *request)
{
    if (context_of(request)->keys)
        return true;
    struct problem problem = {
        .kind = PROBLEM_UNSUPPORTED,
        .detail = "this service has no keys to seal values with (see --key-file)",
        .extra = "\"capability\":\"encryption\"",
    };
    reply_problem(request, &problem);
    return false;
}

static struct bytes seal_part(const struct key *key, struct arena *arena, const struct seal_place *place,
                              struct bytes part)
{
    uint8_t *out = arena_alloc(arena, part.size + SEAL_OVERHEAD);
    if (!seal(key, place, part, out))
        return (struct bytes){0}; // a place too long for its column: it will not open
    return bytes_make(out, part.size + SEAL_OVERHEAD);
}

static struct bytes mark(struct arena *arena, const struct key *key, struct bytes content_type)
{
    uint8_t *text = arena_alloc(arena, MARK_BYTES + 1 + content_type.size);
    text[0] = 1;
    key_id_format(key->id, (char *)text + 1);
    if (content_type.size)
        memcpy(text + MARK_BYTES, content_type.data, content_type.size);
    return bytes_make(text, MARK_BYTES + content_type.size);
}

static void seal_as(struct context *context, struct arena *arena, struct seal_place *place,
                    const struct content *content, struct content *sealed)
{
    const struct key *key = keys_current(key_ring_keys(context->keys));
    struct content whole = *content;
    place->content_type = whole.content_type.given ? whole.content_type.bytes : (struct bytes){0};
    if (place->purpose == SEAL_VALUE && whole.metadata.given)
        place->purpose = SEAL_DESCRIBED_VALUE;
    sealed->value = seal_part(key, arena, place, whole.value);
    sealed->content_type = value_bytes(mark(arena, key, place->content_type));
    sealed->metadata = value_null();
    if (whole.metadata.given) {
        place->purpose = SEAL_METADATA;
        sealed->metadata = value_bytes(seal_part(key, arena, place, whole.metadata.bytes));
    }
}

void content_seal(struct context *context, struct arena *arena, const struct address *address,
                  int64_t version, const struct content *content, struct content *sealed)
{
    struct seal_place place = {SEAL_VALUE, address->bucket, fork_of(address->fork), address->path,
                               {0},        version};
    seal_as(context, arena, &place, content, sealed);
}

void answer_seal(struct context *context, struct arena *arena, const struct address *address, int64_t token,
                 const struct content *content, struct content *sealed)
{
    struct seal_place place = {SEAL_ANSWER, address->bucket, {0}, address->path, {0}, token};
    seal_as(context, arena, &place, content, sealed);
}
