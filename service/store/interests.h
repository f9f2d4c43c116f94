// Who is interested in what: the tables behind store/listen, which know nothing of the connection.
#pragma once

#include "store/listen.h"

#include <uthash.h>

// How a bucket is covered: only with its lock held shared do writers tell what they change in it.
enum cover {
    COVER_NONE,      // looked at by the clock; its lock may be asked for
    COVER_TRYING,    // in the statement under way
    COVER_QUEUED,    // a writer had the lock: to be waited for
    COVER_LOCKING,   // is being waited for
    COVER_HELD,      // changes are told
    COVER_RELEASING, // in the statement under way
};

struct waited_bucket {
    UT_hash_handle hh;
    struct bytes name; // its own memory
    uint32_t hash;     // as notifications name it
    enum cover cover;
    struct interest *interests;
    int64_t alone_since; // when the last interest went
    int64_t try_after;   // while not covered: when to ask for the lock (again)
};

// The interests in one path; paths that share a hash share it too, and are woken together.
struct slot_key {
    uint32_t bucket;
    uint32_t path;
    uint32_t topic;
};

struct interest_slot {
    UT_hash_handle hh;
    struct slot_key key;
    struct interest *interests;
};

struct interests {
    struct waited_bucket *buckets;
    struct interest_slot *slots;
    struct interest *due; // oldest first, a list of utlist.h
    struct counts *counts;
};

// Adds it to its bucket and path, which are made when they are missing.
void interests_add(struct interests *all, struct interest *interest);
// Gives the bucket, which may be alone now.
struct waited_bucket *interests_remove(struct interests *all, struct interest *interest);

// For a bucket without interests.
void interests_forget_bucket(struct interests *all, struct waited_bucket *bucket);

// Puts one, all of a bucket, or all of those whom a notification concerns among those to be called. What is
// no notification of ours concerns nobody.
void interests_mark(struct interests *all, struct interest *interest);
void interests_mark_bucket(struct interests *all, struct waited_bucket *bucket);
void interests_mark_told(struct interests *all, const char *notification);
void interests_mark_path(struct interests *all, struct bytes bucket, struct bytes path,
                         enum listen_topic topic);

// Calls those who are due now, and those whom the calls make due.
void interests_call_due(struct interests *all);

// Frees the tables.
void interests_free(struct interests *all);
