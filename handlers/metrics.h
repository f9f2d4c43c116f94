// What the service counts of itself, for Prometheus.
#pragma once

#include "http/request.h"

// GET /metrics; 404 unless the service runs with --metrics.
void metrics_get(struct request *request);
