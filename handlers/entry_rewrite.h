// Calls that read an entry, make a new value of it here and write that: PATCH, exchange, compare-and-set,
// upsert.
#pragma once

struct request;

void entry_patch(struct request *request);
void entry_exchange(struct request *request);
void entry_compare_and_set(struct request *request);
void entry_upsert(struct request *request);
