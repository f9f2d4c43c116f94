// What handlers tell the client when the database gave no rows, or a refusal that many calls share.
#pragma once

#include "handlers/context.h"

// True when there are rows; else replies with the problem (unavailable, outcome_unknown or internal).
bool outcome_usable(struct request *request, const struct outcome *outcome);

void reply_no_bucket(struct request *request, struct bytes name);
void reply_no_name(struct request *request, struct bytes name);
void reply_kind_mismatch(struct request *request, struct bytes name, struct bytes actual_kind);

// 412 with the live version in the document and the ETag, or null when there is none.
void reply_version_conflict(struct request *request, bool live, int64_t version);

// 409: the lease that the request relies on is over.
void reply_lease_lost(struct request *request);

// 503: a caller that waits is not waited with any longer.
void reply_shutting_down(struct request *request);

// Adds Holdfast-Position.
void reply_position(struct request *request, int64_t position);
