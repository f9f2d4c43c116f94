// Single entries: PUT, DELETE, take.
#pragma once

struct request;

void entry_put(struct request *request);
void entry_delete(struct request *request);
void entry_take(struct request *request);
