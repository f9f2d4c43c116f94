// Tokens over HTTP, for those who administer them.
#pragma once

#include "handlers/context.h"

void token_create(struct request *request);
void token_list(struct request *request);
void token_get(struct request *request);
void token_revoke(struct request *request);
