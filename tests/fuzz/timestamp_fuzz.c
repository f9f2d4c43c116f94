// Times: what is accepted is written in one form that is read back as the same moment.
#include "fuzz.h"

#include "base/timestamp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t us = 0;
    if (!timestamp_parse(bytes_make(data, size), &us))
        return 0;
    char out[TIMESTAMP_SIZE];
    int64_t again = 0;
    timestamp_format(us, out);
    must(strlen(out) == strlen("2026-01-31T23:59:59.123456Z"));
    must(timestamp_parse(bytes_of(out), &again) && again == us);
    return 0;
}
