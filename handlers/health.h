// Whether the service lives, and whether it can do its work.
#pragma once

#include "handlers/context.h"

// Starts asking the database, a few times a second, whether it can be written.
void health_start(struct context *context);
void health_stop(struct context *context);

// Whether /readyz would say so.
bool health_is_ready(const struct context *context);

void health_livez(struct request *request);
void health_readyz(struct request *request);
