// When an entry expires: PUT and DELETE of its expiry.
#pragma once

struct request;

void entry_expiry_put(struct request *request);
void entry_expiry_delete(struct request *request);
