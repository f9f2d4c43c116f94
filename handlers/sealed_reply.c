// All is sealed as one: the fingerprint, the size of the headers, the headers, the body. The fingerprint with
// the rest, since it is of a request whose value may be sealed: outside, a copy of the database would tell
// who tries values what it was.
#include "handlers/sealed_reply.h"

#include "base/buffer.h"
#include "handlers/fingerprint.h"
#include "handlers/sealed_entry.h"
#include "security/key_ring.h"

enum { SIZE_BYTES = 4 };

static struct seal_place place_of(const struct sealed_reply *reply)
{
    return (struct seal_place){
        .purpose = SEAL_REPLY,
        .name = reply->scope,
        .path = reply->key,
        .version = reply->status,
    };
}

void reply_seal(struct context *context, struct arena *arena, struct sealed_reply *reply)
{
    if (!context->keys)
        return;
    const struct key *key = keys_current(key_ring_keys(context->keys));
    struct seal_place place = place_of(reply);
    struct buffer plain = {0};
    buffer_add_bytes(&plain, reply->fingerprint);
    buffer_add_u32(&plain, (uint32_t)reply->headers.size);
    buffer_add_bytes(&plain, reply->headers);
    buffer_add_bytes(&plain, reply->body);
    uint8_t *sealed = arena_alloc(arena, plain.size + SEAL_OVERHEAD);
    char *mark = arena_alloc(arena, 1 + KEY_ID_TEXT + 1);
    mark[0] = 1;
    key_id_format(key->id, mark + 1);
    seal(key, &place, buffer_view(&plain), sealed);
    reply->fingerprint = bytes_of("");
    reply->headers = bytes_make(mark, 1 + KEY_ID_TEXT);
    reply->body = bytes_make(sealed, plain.size + SEAL_OVERHEAD);
    buffer_free(&plain);
}

static bool take_apart(struct sealed_reply *reply, struct bytes plain)
{
    uint32_t size;
    if (plain.size < FINGERPRINT_BYTES + SIZE_BYTES)
        return false;
    reply->fingerprint = bytes_make(plain.data, FINGERPRINT_BYTES);
    plain = bytes_make(plain.data + FINGERPRINT_BYTES, plain.size - FINGERPRINT_BYTES);
    memcpy(&size, plain.data, SIZE_BYTES);
    size = be32toh(size);
    if (size > plain.size - SIZE_BYTES)
        return false;
    reply->headers = bytes_make(plain.data + SIZE_BYTES, size);
    reply->body = bytes_make(plain.data + SIZE_BYTES + size, plain.size - SIZE_BYTES - size);
    return true;
}

bool reply_open(struct context *context, struct arena *arena, struct sealed_reply *reply)
{
    if (!content_type_sealed(reply->headers))
        return true;
    reply->corrupt = "the kept reply was sealed with a key that this service does not have";
    if (!context->keys)
        return false;
    struct seal_place place = place_of(reply);
    uint8_t *plain = arena_alloc(arena, reply->body.size + 1);
    enum seal_verdict verdict = seal_open(key_ring_keys(context->keys), &place, reply->body, plain);
    if (verdict == SEAL_NO_KEY && key_ring_missed(context->keys))
        verdict = seal_open(key_ring_keys(context->keys), &place, reply->body, plain);
    if (verdict == SEAL_NO_KEY)
        return false;
    reply->corrupt = "the kept reply was altered, or sealed for another key";
    return verdict == SEAL_OPENED && take_apart(reply, bytes_make(plain, reply->body.size - SEAL_OVERHEAD));
}
