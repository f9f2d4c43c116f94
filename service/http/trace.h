// The trace that a request belongs to, as the caller's traceparent says (W3C Trace Context).
#pragma once

#include "base/bytes.h"

enum { TRACE_ID = 32, TRACE_SPAN = 16, TRACEPARENT = 55 };

// Texts with their NUL.
struct trace {
    char trace_id[TRACE_ID + 1];  // the caller's
    char span_id[TRACE_SPAN + 1]; // ours for this request
    bool sampled;
};

// Reads the value of a traceparent; false when it is malformed in any way, and the trace is then not begun.
// `span` is the number to use for our own part of the trace; not 0.
bool trace_begin(struct trace *trace, struct bytes traceparent, uint64_t span);

// The traceparent to hand on: the same trace, our span.
void trace_write(const struct trace *trace, char out[TRACEPARENT + 1]);
