// Copying and moving an entry to another key, branch or bucket.
#pragma once

struct request;

void entry_copy(struct request *request);
void entry_move(struct request *request);
