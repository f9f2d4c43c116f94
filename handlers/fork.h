// The fork that a call on entries goes through: `fork` of its query.
#pragma once

#include "handlers/context.h"

enum { FORK_ID_BYTES = 128 };

// What the functions for forks answer beside the statuses of those for entries.
enum fork_status { FORK_ABSENT = 20, FORK_CLOSING, FORK_NOT_COVERED };

// Whether the stored `id` may name a fork: 1 to 128 of A-Z a-z 0-9 . _ -, and neither . nor .. to the caller.
bool fork_id_valid(const struct request *request, struct bytes id);

// Replies `invalid`.
void reply_bad_fork_id(struct request *request);

// Reads the query's `fork` as the database is to be asked for it; its data is NULL when there is none.
// Replies `invalid` and gives false when it is malformed.
bool fork_read(struct request *request, struct bytes *fork);

// What the database is asked with for a fork of this stored id: also says whose it must be, unless the caller
// may have anybody's (fork_is() reads it).
struct bytes fork_claim(struct request *request, struct bytes id);

// Replies to a fork_status and gives true; false for every other status.
bool fork_refused(struct request *request, int64_t status);

void reply_no_fork(struct request *request);
