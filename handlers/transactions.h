// Several entries that change together or not at all.
#pragma once

struct request;

void transaction_run(struct request *request);
