// Metrics as text, in the format that Prometheus reads (text format 0.0.4).
#pragma once

#include "base/buffer.h"
#include "observe/counts.h"

enum exposition_type { EXPOSITION_COUNTER, EXPOSITION_GAUGE, EXPOSITION_HISTOGRAM };

struct exposition_label {
    const char *name;
    const char *value; // any text: it is escaped
};

enum { EXPOSITION_LABELS = 4 };

// The labels of one series, ended by one without a name.
typedef struct exposition_label exposition_labels[EXPOSITION_LABELS];

// Begins a family: HELP and TYPE. All samples of the family must follow before the next one begins.
void exposition_family(struct buffer *out, const char *name, enum exposition_type type, const char *help);

// One sample of `number` / `scale`, where scale is 1 or 1000000.
void exposition_sample(struct buffer *out, const char *name, const exposition_labels labels, uint64_t number,
                       uint64_t scale);

// A histogram's buckets, which are cumulative from here on, its sum and its count.
void exposition_histogram(struct buffer *out, const char *name, const exposition_labels labels,
                          const struct histogram_bounds *bounds, const uint64_t *within, uint64_t sum);
