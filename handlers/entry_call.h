// The operations that most calls on single entries are made of: read one, write one.
#pragma once

#include "handlers/address.h"
#include "handlers/declared_type.h"
#include "handlers/expiry.h"
#include "handlers/precondition.h"
#include "handlers/sealed_write.h"

enum { LARGE_VALUE = 64 << 10 }; // above this a value travels on the connection for large ones

// --- reading
// ----------------------------------------------------------------------------------------------------------

enum get_column { GET_PATH, GET_UNLESS, GET_WANTED, GET_COLUMNS };

enum { GET_FORK = GET_COLUMNS, GET_FORK_COLUMNS };

enum get_result {
    GOT_ORDINAL,
    GOT_STATUS,
    GOT_VERSION,
    GOT_EXPIRES_AT,
    GOT_IDLE,
    GOT_CONTENT_TYPE,
    GOT_METADATA,
    GOT_SIZE, // of a value that did not come
    GOT_VALUE,
    GOT_KIND,
    GOT_NOW, // with GOT_EXPIRES_AT, where time goes on (not for what a severed fork left as it was)
};

enum get_status { GET_LIVE, GET_ABSENT, GET_NO_BUCKET, GET_OTHER_KIND };

struct get_call {
    struct operation operation;            // first: the operation is the call
    struct value values[GET_FORK_COLUMNS]; // the fork last, when there is one
    bool renewed;                          // its idle term was renewed already
    int64_t renewed_to;                    // the expiry that a renewal on its way gives; 0 when there is none
};

// Submits a read. `unless`: a version whose value need not come. `done` gets `owner` in the operation.
void get_call_submit(struct context *context, struct account *account, struct get_call *call,
                     const struct address *address, struct value unless, bool wanted,
                     void (*done)(struct operation *, const struct outcome *), void *owner);

// The bytes that are stored of a live entry's value, whether it came or not; sealed ones are more than the
// value itself has.
size_t got_size(const struct outcome *outcome);

// Whether the value was left out because it is large, or not asked for and sealed, so that only with it can
// be seen whether it opens; then the call was submitted again and `done` will come again.
bool get_call_large(struct context *context, struct get_call *call, const struct outcome *outcome);

// --- writing
// ----------------------------------------------------------------------------------------------------------

enum put_column {
    PUT_PATH,
    PUT_VALUE,
    PUT_CONTENT_TYPE,
    PUT_METADATA,
    PUT_CHECKED,
    PUT_CONDITIONS,
    PUT_IF_VERSIONS,
    PUT_UNLESS_VERSIONS,
    PUT_TTL,
    PUT_UNTIL,
    PUT_DECLARES,
    PUT_COLUMNS,
};

// A write is fenced or goes through a fork, not both.
enum { PUT_FENCED_COLUMNS = PUT_COLUMNS + FENCE_COLUMNS };
enum { PUT_FORK = PUT_COLUMNS, PUT_FORK_COLUMNS };

enum write_result { WROTE_ORDINAL, WROTE_STATUS, WROTE_VERSION, WROTE_EXPIRES_AT, WROTE_MOST, WROTE_TYPE };

// What the writing functions answer; each of them a part of these.
enum write_status {
    WRITE_NEW,
    WRITE_REPLACED,
    WRITE_CONFLICT,
    WRITE_NO_BUCKET,
    WRITE_OTHER_KIND,
    WRITE_OTHER_TYPE,
    WRITE_TOO_LARGE,
    WRITE_PAST,
    WRITE_ABSENT,
    WRITE_LARGE = 10,
    WRITE_OVERFLOW,
    WRITE_NO_TARGET_BUCKET,
    WRITE_TARGET_OTHER_KIND,
    WRITE_LEASE_HELD,
    WRITE_LEASE_LOST,
};

// What a write stores beside where and when.
struct content {
    struct bytes value;
    struct value content_type;
    struct value metadata;
};

struct put_call {
    struct operation operation;              // first: the operation is the call
    struct value values[PUT_FENCED_COLUMNS]; // those of the fence, or the fork, last
    struct arena *arena;                     // the request's
    struct content content;
    struct address address;
    bool fenced;
    struct sealed_write sealed; // used when the bucket is encrypted
};

// Submits a write of `content` under the given conditions and, when there is one, their fence.
void put_call_submit(struct request *request, struct put_call *call, const struct address *address,
                     const struct content *content, const struct precondition *precondition,
                     const struct expiry *expiry, void (*done)(struct operation *, const struct outcome *),
                     void *owner);

enum put_refusal {
    PUT_NOT_REFUSED, // the status is WRITE_NEW, WRITE_REPLACED or WRITE_CONFLICT
    PUT_SUBMITTED,   // once more, checked for the bucket's type: `done` will come again
    PUT_REPLIED,     // with the problem
};

// Deals with every answer but success and conflict.
enum put_refusal put_call_refused(struct request *request, struct put_call *call,
                                  const struct outcome *outcome);

// The row of a read, to be opened. It lives as long as the outcome.
struct stored_entry got_entry(const struct get_call *call, const struct outcome *outcome);

// The type that values for the bucket had to be checked for when it was last heard of.
const struct declared_type *type_hint(struct context *context, struct bytes bucket);

// Remembers the type that the database named.
void type_learn(struct context *context, struct bytes bucket, const struct declared_type *declared);

// Whether the value fits the type, and may be sealed where that is asked for; else replies.
bool type_fits(struct request *request, const struct declared_type *declared, struct bytes value);

void reply_value_too_large(struct request *request, int64_t most);
void reply_type_mismatch(struct request *request, enum value_type type);
void reply_absent(struct request *request);
