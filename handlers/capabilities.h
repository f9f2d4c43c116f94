// What this deployment offers, for programs that must know before they ask.
#pragma once

#include "http/request.h"

// GET /v1/capabilities: 200 with the version, the switches and the limits of the service. Asks no database.
void capabilities_get(struct request *request);
