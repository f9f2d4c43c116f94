// Answers of once: keeping one, reading it, forgetting it.
#pragma once

#include "handlers/address.h"

void once_answer(struct request *request);
void once_get(struct request *request);
void once_forget(struct request *request);

// 200 with the answer in a row of enum once_result (once_attempt.h), as it was stored.
void reply_kept_answer(struct request *request, const struct address *address, const struct outcome *outcome);
