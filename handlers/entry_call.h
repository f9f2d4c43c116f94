// The operations that most calls on single entries are made of: read one, write one.
#pragma once

#include "handlers/address.h"
#include "handlers/expiry.h"
#include "handlers/precondition.h"
#include "handlers/value_type.h"

enum { LARGE_VALUE = 64 << 10 }; // above this a value travels on the connection for large ones

// --- reading
// ----------------------------------------------------------------------------------------------------------

enum get_column { GET_PATH, GET_UNLESS, GET_WANTED, GET_COLUMNS };

enum get_result {
    GOT_ORDINAL,
    GOT_STATUS,
    GOT_VERSION,
    GOT_EXPIRES_AT,
    GOT_IDLE,
    GOT_CONTENT_TYPE,
    GOT_METADATA,
    GOT_SIZE,
    GOT_VALUE,
    GOT_KIND,
    GOT_NOW,
};

enum get_status { GET_LIVE, GET_ABSENT, GET_NO_BUCKET, GET_OTHER_KIND };

struct get_call {
    struct operation operation; // first: the operation is the call
    struct value values[GET_COLUMNS];
    bool renewed; // its idle term was renewed already
};

// Submits a read. `unless`: a version whose value need not come. `done` gets `owner` in the operation.
void get_call_submit(struct context *context, struct get_call *call, const struct address *address,
                     struct value unless, bool wanted,
                     void (*done)(struct operation *, const struct outcome *), void *owner);

// Whether the value was left out because it is large; then the call was submitted again and `done` will come
// again.
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
};

struct put_call {
    struct operation operation; // first: the operation is the call
    struct value values[PUT_COLUMNS];
    enum value_type checked;
};

// What a write stores beside where and when.
struct content {
    struct bytes value;
    struct value content_type;
    struct value metadata;
};

// Submits a write of `content` under the given conditions.
void put_call_submit(struct context *context, struct put_call *call, const struct address *address,
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

// The type that values for the bucket had to be checked for when it was last heard of.
enum value_type type_hint(struct context *context, struct bytes bucket);

void reply_value_too_large(struct request *request, int64_t most);
void reply_type_mismatch(struct request *request, enum value_type type);
void reply_absent(struct request *request);
