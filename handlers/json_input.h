// Members of a JSON request that mean the same everywhere: durations, times, keys, branches, names.
#pragma once

#include "handlers/address.h"

// All reply `invalid` and give false when the member is of the wrong kind. A member that is absent or null
// leaves the value not given.

bool input_duration(struct request *request, json_t *object, const char *member, struct value *us);
bool input_time(struct request *request, json_t *object, const char *member, struct value *us);

// A JSON string as bytes; `required` says whether it may be absent (data NULL then).
bool input_text(struct request *request, json_t *object, const char *member, bool required,
                struct bytes *text);

// Bytes in `member` as UTF-8 or in `member_base64` (its name with that ending) in base64; exactly one when
// required.
bool input_bytes(struct request *request, json_t *object, const char *member, const char *member_base64,
                 bool required, struct bytes *bytes);

// The branch in `member`: an array of owners, each a string or {"base64": …}. Absent is no owners. `owners`
// has room for PATH_MAX_OWNERS.
bool input_owners(struct request *request, json_t *object, const char *member, struct bytes *owners,
                  size_t *count);

// Refusals of what does not fit into a path; `parameter` says where it came from.
void reply_too_many_owners(struct request *request, const char *parameter);
void reply_path_too_long(struct request *request, const char *parameter);

// Encodes owners and key; replies `invalid` when they are empty or too long.
bool input_path(struct request *request, const struct bytes *owners, size_t count, struct bytes key,
                struct bytes *path);
