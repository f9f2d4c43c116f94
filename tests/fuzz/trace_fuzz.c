// Traceparents: what is accepted is joined, and what is handed on is of the same trace and is accepted too.
#include "fuzz.h"

#include "http/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct trace trace, again;
    char out[TRACEPARENT + 1];
    if (!trace_begin(&trace, bytes_make(data, size), UINT64_C(0xfeedface00000001)))
        return 0;
    must(size >= TRACEPARENT && memcmp(trace.trace_id, data + 3, TRACE_ID) == 0);
    must(strspn(trace.trace_id, "0") < TRACE_ID && strcmp(trace.span_id, "feedface00000001") == 0);
    trace_write(&trace, out);
    must(strlen(out) == TRACEPARENT && trace_begin(&again, bytes_of(out), 1));
    must(strcmp(again.trace_id, trace.trace_id) == 0 && again.sampled == trace.sampled);
    return 0;
}
