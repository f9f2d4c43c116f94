// A blocking HTTP client for one thread that sends each request exactly once, so that a test may count what
// happened: common clients send again when a kept connection breaks, and a write would then happen twice.
#pragma once

#include "base/bytes.h"

enum { ENTRY_VERSION_ROOM = 64 };

enum entry_moment { ENTRY_SENDING, ENTRY_RECEIVING };

struct entry_client {
    uint16_t port;    // of 127.0.0.1; may be changed between calls
    int timeout_ms;   // may be changed between calls
    int receive_room; // of the socket, so that large replies wait at the service; 0: what the system gives
    // Called when half of a body with many bytes is sent, and when the head and no more of such a reply was
    // looked at; NULL: neither.
    void (*halfway)(enum entry_moment moment, void *user);
    void *user;
    int fd;
    uint16_t connected_port;
    int applied_timeout_ms;
    char *in; // what was received
    size_t in_size;
    size_t in_room;
};

struct entry_request {
    const char *method;
    const char *target; // path and query, already encoded
    struct bytes body;
    const char *content_type; // NULL: none is sent
    const char *headers;      // further header lines, each with CR LF behind it, or NULL
};

enum entry_outcome {
    ENTRY_ANSWERED,
    ENTRY_NOT_SENT,  // no connection: the service cannot have seen any of it
    ENTRY_NO_ANSWER, // sent, at least in part, but no whole answer came
};

// A reply; its texts are empty when the header is absent. `body` is valid until the client's next call.
struct entry_reply {
    enum entry_outcome outcome;
    int status;
    char version[ENTRY_VERSION_ROOM]; // of ETag, without the quotes
    bool weak;                        // the ETag's mark
    int64_t position;                 // Holdfast-Position, 0 when absent
    char expires_at[40];              // Holdfast-Expires-At
    char content_type[300];
    char note[300];         // Holdfast-Meta-Note
    int64_t content_length; // as the header has it, -1 when absent
    bool retry_after;
    struct bytes body;
};

// A client for one replica; no connection is made yet.
struct entry_client entry_client_new(uint16_t port);
// Closes the connection and frees memory.
void entry_client_close(struct entry_client *client);

// Sends `request` once and waits for the whole reply, at most the client's timeout (10 s) between bytes.
void entry_client_ask(struct entry_client *client, const struct entry_request *request,
                      struct entry_reply *reply);

// Not done, or not for certain: what any call may meet while replicas are killed.
bool entry_reply_is_fault(const struct entry_reply *reply);

// Copies the text member `name` of a JSON object in the reply's body; false, and an empty text, when the body
// is no object or the member is null, absent, no text or too long.
bool entry_reply_member(const struct entry_reply *reply, const char *name, char out[ENTRY_VERSION_ROOM]);
