// Replies kept under an Idempotency-Key, sealed: any of them may have a value of an encrypted bucket in it.
#pragma once

#include "handlers/context.h"

struct sealed_reply {
    struct bytes scope;
    struct bytes key;
    struct bytes fingerprint; // of the request; as stored, that of a sealed one is empty
    int64_t status;
    struct bytes headers; // as stored: sealed ones only name the key
    struct bytes body;

    const char *corrupt; // why it does not open
};

// Seals headers and body, in the arena, where the service has keys.
void reply_seal(struct context *context, struct arena *arena, struct sealed_reply *reply);

// Opens them, when they are sealed. False, with the reason in `corrupt`, when they do not open.
bool reply_open(struct context *context, struct arena *arena, struct sealed_reply *reply);
