// Many entries at once: pages of a branch, batch-get, removing ranges, clearing branches.
#pragma once

struct request;

void entries_scan(struct request *request);
void entries_clear(struct request *request);
void entries_batch_get(struct request *request);
