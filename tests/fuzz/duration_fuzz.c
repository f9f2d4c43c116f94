// Durations, rates and integers: what is accepted lies in its range and is read back from how it is written.
#include "fuzz.h"

#include "base/buffer.h"
#include "base/duration.h"
#include "base/text.h"

static void check_duration(struct bytes text)
{
    int64_t us = 0;
    if (!duration_parse(text, &us))
        return;
    must(us > 0 && us <= DURATION_MAX_US && us % 1000 == 0);
    char out[24];
    int64_t again = 0;
    duration_format(us, out);
    must(duration_parse(bytes_of(out), &again) && again == us);
}

static void check_rate(struct bytes text)
{
    int64_t count = 0;
    int64_t per_us = 0;
    if (!rate_parse(text, &count, &per_us))
        return;
    must(count >= 1 && per_us > 0 && per_us <= DURATION_MAX_US);
    char out[48];
    int64_t again = 0, per_again = 0;
    rate_format(count, per_us, out);
    must(rate_parse(bytes_of(out), &again, &per_again) && again == count && per_again == per_us);
}

static void check_integer(struct bytes text)
{
    int64_t n = 0;
    if (!text_int64(text, &n))
        return;
    struct buffer out = {0};
    buffer_add_int64(&out, n);
    must(bytes_equal(buffer_view(&out), text));
    buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes text = bytes_make(data, size);
    check_duration(text);
    check_rate(text);
    check_integer(text);
    return 0;
}
