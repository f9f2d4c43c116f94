// Adding to an entry that holds a number.
#pragma once

struct request;

void entry_add(struct request *request);
