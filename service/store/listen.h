// Being told of changes: one connection that listens, for all in this worker who wait for something in the
// database.
#pragma once

#include "base/bytes.h"
#include "loop/loop.h"
#include "observe/counts.h"

struct listen;
struct waited_bucket;
struct interest_slot;

// What changes of a bucket's are about; the letters are those of holdfast.announce().
enum listen_topic {
    LISTEN_ENTRIES = 'e',
    LISTEN_LEASES = 'l',
    LISTEN_ONCE = 'o',
    LISTEN_FORKS = 'f',
};

// Somebody's interest in one path of a bucket. The object and what it points to are the caller's and must
// stay until listen_remove. Both callbacks come from the loop, never from within listen_add, and may add and
// remove interests, their own too.
struct interest {
    struct bytes bucket; // at most 128 bytes
    struct bytes path;
    enum listen_topic topic;
    // Comes once, soon, whatever the state of the database: every change that commits from now on is told by
    // `woken`. So what was looked at after this call cannot be missed, and what was looked at before can.
    void (*registered)(struct interest *interest);
    // Something may have changed: look again. Comes also without a change; and once a second while nobody can
    // listen, so that a look may not cost much.
    void (*woken)(struct interest *interest);

    // The room's own, from here on.
    struct waited_bucket *in;
    struct interest_slot *slot;
    struct interest *next_in_bucket, *prev_in_bucket;
    struct interest *next_in_slot, *prev_in_slot;
    struct interest *next_due, *prev_due;
    bool due;
    bool told; // `registered` was called
};

// Starts connecting at once; never blocks, never fails for the database's sake. `connection` is a libpq
// connection string that must outlive the object, and so must `counts`.
struct listen *listen_new(struct loop *loop, const char *connection, struct counts *counts);

// Tells the counts how things stand.
void listen_observe(const struct listen *listen);

// Interests that are still there are forgotten without a call.
void listen_free(struct listen *listen);

// Takes an interest whose bucket, path, topic and callbacks are set and whose other members are zero.
void listen_add(struct listen *listen, struct interest *interest);

// Allowed at any time, once; no callback of this interest comes after it.
void listen_remove(struct listen *listen, struct interest *interest);

// Somebody in this worker changed it, and that is committed: those of this worker who wait for it are spared
// the way of the notification, which reaches them too. They are called by listen_call.
void listen_changed(struct listen *listen, struct bytes bucket, struct bytes path, enum listen_topic topic);
void listen_call(struct listen *listen);

// Has `changed` called, from the loop, whenever somebody tells that tokens were made or revoked; once for a
// session. What is told while nobody can listen is told to nobody.
void listen_to_tokens(struct listen *listen, void (*changed)(void *user), void *user);
