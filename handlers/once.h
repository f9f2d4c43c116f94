// The names of once: declaring, reading, dropping them and clearing their branches.
#pragma once

#include "handlers/context.h"

void once_put(struct request *request);
void once_read(struct request *request);
void once_drop(struct request *request);
