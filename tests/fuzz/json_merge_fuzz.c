// Merge patches: good texts merge or have a name twice, as the RFC's procedure does it; twice is like once.
#include "json_values.h"

#include "../support/json_oracle.h"
#include "base/json_merge.h"
#include "base/json_text.h"

static void check_against_the_rfc(struct bytes target, struct bytes patch, struct bytes merged)
{
    json_t *values[2] = {understood(target, JSON_REJECT_DUPLICATES),
                         understood(patch, JSON_REJECT_DUPLICATES)};
    if (values[0] && values[1]) {
        json_t *expected = merge_by_the_rfc(json_incref(values[0]), values[1]);
        json_t *got = understood(merged, JSON_REJECT_DUPLICATES);
        must(got && json_equal(got, expected));
        json_decref(got);
        json_decref(expected);
    }
    json_decref(values[0]);
    json_decref(values[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes patch = bytes_make(data, size);
    struct bytes target = take_text(&patch);
    bool good = json_check(target, JSON_STORED_DEPTH) == JSON_VALID &&
                json_check(patch, JSON_STORED_DEPTH) == JSON_VALID;
    struct buffer out = {0};
    enum json_merge_verdict verdict = json_merge_patch(target, patch, size, &out);
    must(good == (verdict == JSON_MERGED) || (good && verdict == JSON_MERGE_DUPLICATE));
    if (verdict != JSON_MERGED) {
        must(out.size == 0);
    } else {
        must(json_check(buffer_view(&out), JSON_STORED_DEPTH) == JSON_VALID);
        check_against_the_rfc(target, patch, buffer_view(&out));
        struct buffer again = {0};
        must(json_merge_patch(buffer_view(&out), patch, SIZE_MAX, &again) == JSON_MERGED);
        must(bytes_equal(buffer_view(&again), buffer_view(&out)));
        buffer_free(&again);
    }
    buffer_free(&out);
    return 0;
}
