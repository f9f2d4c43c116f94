// What a correct service holds: buckets and entries as plain memory with a clock that the test moves.
#pragma once

#include "model/universe.h"

enum { VERSION_ROOM = 64 };

struct held_entry {
    bool present; // also while it is expired
    char version[VERSION_ROOM];
    struct bytes value; // malloc'ed
    const char *content_type;
    const char *note;
    bool expires;
    int64_t expires_at; // microseconds since 1970
};

struct held_bucket {
    bool declared;
    const char *type;
    int64_t ttl; // microseconds; 0 is none
    int64_t max_value_bytes;
    int64_t created_at;
};

struct store_model {
    int64_t now; // microseconds since 1970
    struct held_bucket buckets[UNIVERSE_BUCKETS];
    struct held_entry entries[UNIVERSE_BUCKETS][UNIVERSE_ADDRESSES];
};

enum expiry_wish {
    EXPIRY_UNSAID,
    EXPIRY_TTL,     // `expiry` microseconds from now
    EXPIRY_UNTIL,   // at `expiry`
    EXPIRY_PERSIST, // never
};

enum held_condition {
    HELD_ALWAYS,
    HELD_IF_VERSION, // If-Match: the version in `version`
    HELD_IF_LIVE,    // If-Match: *
    HELD_IF_ABSENT,  // If-None-Match: *
    HELD_NEVER,      // If-Match with nothing that can match
};

struct model_put {
    size_t bucket;
    size_t address;
    struct bytes value; // malloc'ed; goes to the model when applied
    bool fits;          // of the bucket's type, as universe_value said
    const char *content_type;
    const char *note;
    enum expiry_wish wish;
    int64_t expiry;
    enum held_condition condition;
    char version[VERSION_ROOM];
};

// The statuses that are right; each call may leave open which of several reasons refuses first.
struct allowed {
    int statuses[3];
    size_t count;
};

// The live entry, or NULL.
struct held_entry *model_live(struct store_model *model, size_t bucket, size_t address);

// Whether the condition holds for the entry as it is.
bool model_condition(struct store_model *model, size_t bucket, size_t address, enum held_condition condition,
                     const char *version);

struct allowed model_allows_put(struct store_model *model, const struct model_put *put);
struct allowed model_allows_delete(struct store_model *model, size_t bucket, size_t address,
                                   enum held_condition condition, const char *version);

// Applies a put that succeeded with `version`; the model owns `put->value` afterwards.
void model_put(struct store_model *model, const struct model_put *put, const char *version);
void model_delete(struct store_model *model, size_t bucket, size_t address);

// Declares or changes; entries stay.
void model_declare(struct store_model *model, size_t bucket, const char *type, int64_t ttl,
                   int64_t max_value_bytes);
// Drops with every entry.
void model_drop(struct store_model *model, size_t bucket);

bool model_has_live_entries(struct store_model *model, size_t bucket);
void model_free(struct store_model *model);

bool allowed_has(struct allowed allowed, int status);
