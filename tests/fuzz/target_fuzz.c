// Paths and queries of the client: whatever the names are, the service takes them apart into the same.
#include "json_values.h"

#include "base/text.h"
#include "client/place.h"

static void check_decoded(struct arena *arena, struct bytes written, struct bytes name)
{
    struct bytes decoded;
    for (size_t i = 0; i < written.size; i++)
        must(written.data[i] > ' ' && written.data[i] < 0x7f && !strchr("/?#&+=", written.data[i]));
    must(text_percent_decode(arena, written, &decoded) && bytes_equal(decoded, name));
}

// The next part of the target, up to one of `ends`.
static struct bytes take_part(const char **at, const char *ends)
{
    size_t size = strcspn(*at, ends);
    struct bytes part = bytes_make(*at, size);
    *at += size + ((*at)[size] != 0);
    return part;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct target target = {0};
    struct bytes owner = bytes_make(data, size);
    struct bytes bucket = take_text(&owner), key = take_text(&owner);
    if (bucket.size && key.size) {
        struct place place = {.bucket = bucket, .key = key, .owners = {owner, key}, .owner_count = 2};
        target_place(&target, "buckets", &place, "entries", "take");
        const char *at = target_text(&target);
        must(strncmp(at, "/v1/buckets/", 12) == 0);
        at += 12;
        struct bytes first = take_part(&at, "/");
        must(!bytes_is(first, ".") && !bytes_is(first, ".."));
        check_decoded(&arena, first, bucket);
        must(bytes_is(take_part(&at, "/"), "entries"));
        check_decoded(&arena, take_part(&at, "/"), key);
        must(bytes_is(take_part(&at, "?"), "take") && bytes_is(take_part(&at, "="), "under"));
        check_decoded(&arena, take_part(&at, "&"), owner);
        must(bytes_is(take_part(&at, "="), "under"));
        check_decoded(&arena, bytes_of(at), key);
    }
    buffer_free(&target.text);
    arena_free(&arena);
    return 0;
}
