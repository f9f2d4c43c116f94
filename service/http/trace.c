// version "-" trace-id "-" parent-id "-" flags, all lower-case hexadecimal.
#include "http/trace.h"

#include <stdio.h>

enum { VERSION_AT = 0, TRACE_AT = 3, PARENT_AT = 36, FLAGS_AT = 53 };

static int digit(uint8_t c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Whether there are `size` digits, and whether any of them is not 0.
static bool is_hex(const uint8_t *text, size_t size, bool *any)
{
    *any = false;
    for (size_t i = 0; i < size; i++) {
        if (digit(text[i]) < 0)
            return false;
        *any = *any || text[i] != '0';
    }
    return true;
}

// A version to come may be longer, but begins like this one.
static bool has_good_length(struct bytes traceparent)
{
    if (traceparent.size == TRACEPARENT)
        return true;
    return traceparent.size > TRACEPARENT && memcmp(traceparent.data, "00", 2) != 0 &&
           traceparent.data[TRACEPARENT] == '-';
}

bool trace_begin(struct trace *trace, struct bytes traceparent, uint64_t span)
{
    const uint8_t *text = traceparent.data;
    bool any, traced, parented;
    if (!has_good_length(traceparent) || text[TRACE_AT - 1] != '-' || text[PARENT_AT - 1] != '-' ||
        text[FLAGS_AT - 1] != '-')
        return false;
    if (!is_hex(text + VERSION_AT, 2, &any) || !is_hex(text + TRACE_AT, TRACE_ID, &traced) ||
        !is_hex(text + PARENT_AT, TRACE_SPAN, &parented) || !is_hex(text + FLAGS_AT, 2, &any))
        return false;
    if (!traced || !parented || memcmp(text, "ff", 2) == 0)
        return false;
    memcpy(trace->trace_id, text + TRACE_AT, TRACE_ID);
    trace->trace_id[TRACE_ID] = 0;
    snprintf(trace->span_id, sizeof trace->span_id, "%016llx", (unsigned long long)span);
    trace->sampled = digit(text[FLAGS_AT + 1]) & 1;
    return true;
}

void trace_write(const struct trace *trace, char out[TRACEPARENT + 1])
{
    snprintf(out, TRACEPARENT + 1, "00-%s-%s-%s", trace->trace_id, trace->span_id,
             trace->sampled ? "01" : "00");
}
