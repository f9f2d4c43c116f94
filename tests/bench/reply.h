// Reads one HTTP/1.1 reply: only what a measurement must know, and nothing doubtful passes.
#pragma once

#include <stddef.h>

enum reply_state {
    REPLY_PARTIAL, // more bytes are needed
    REPLY_WHOLE,
    REPLY_BROKEN, // not a reply that is accepted here; `fault` says why
};

struct reply {
    int status;
    const char *body;
    size_t body_size;
    size_t size; // of the whole reply
    const char *fault;
};

// Reads the reply at the start of `bytes`, into which it then points. A reply has one plain Content-Length;
// only 204 and 304, which have no body, may leave it out. Interim replies and chunks are broken.
enum reply_state reply_read(struct reply *reply, const char *bytes, size_t size);
