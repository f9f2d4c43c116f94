// The handlers for forks as a whole: `/v1/forks/{fork}`. They reply with what API.md says.
#pragma once

#include "http/request.h"

void fork_put(struct request *request);
void fork_get(struct request *request);
void fork_list(struct request *request);
void fork_delete(struct request *request);
void fork_promote(struct request *request);
