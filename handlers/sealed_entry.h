// Entries of encrypted buckets as they are stored, and as everybody sees them.
#pragma once

#include "handlers/address.h"
#include "handlers/declared_type.h"
#include "security/seal.h"

// A row as it was read; entry_open makes of it what the client may see.
struct stored_entry {
    struct bytes bucket;
    struct bytes fork; // that it was read through; data NULL for none
    struct bytes path;
    int64_t version;
    struct bytes declared; // what the database names as the bucket's type
    struct bytes content_type;
    struct bytes metadata;
    bool partial; // its metadata, if it has any, was not read
    bool has_value;
    struct bytes value;

    const char *corrupt;    // why it does not open, for a problem's detail
    struct bytes sealed_in; // the fork whose write it was; empty: it is as the main data has it
};

// Whether the row of this content type is sealed.
static inline bool content_type_sealed(struct bytes content_type)
{
    return content_type.size > 0 && content_type.data[0] == 1;
}

// Whether the row is sealed, or ought to be.
bool entry_sealed(const struct stored_entry *entry);

// The content type itself, of a row that is sealed or not.
struct bytes content_type_opened(struct bytes content_type);

// The bytes of a value of which `size` are stored in a row of this content type.
size_t size_opened(struct bytes content_type, size_t size);

// Opens a row: `declared` becomes the name of the type of the values themselves (empty for any), content
// type, metadata and value what was sealed, in the arena. False, with the reason in `corrupt`, when it does
// not open, or is not sealed although all of its bucket are. A row of an ordinary bucket costs next to
// nothing.
bool entry_open(struct context *context, struct arena *arena, struct stored_entry *entry);

// Replies with 500 `corrupt`.
void reply_corrupt(struct request *request, const struct stored_entry *entry);

// Whether this service has keys; else replies that it does not seal.
bool sealing_possible(struct request *request);

struct content;

// Seals content for its place into the three columns of a row, in the arena. `sealed` may be `content`.
void content_seal(struct context *context, struct arena *arena, const struct address *address,
                  int64_t version, const struct content *content, struct content *sealed);

// The same for the kept answers of once, whose version is the token of their run. One that is not sealed
// opens as it is: it may be older than the keys.
bool answer_open(struct context *context, struct arena *arena, struct stored_entry *answer);
void answer_seal(struct context *context, struct arena *arena, const struct address *address, int64_t token,
                 const struct content *content, struct content *sealed);
