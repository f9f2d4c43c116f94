// What is measured now and then while a soak goes on, and whether it grew.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum measure {
    MEASURE_MEMORY_0, // MiB resident, of the replicas
    MEASURE_MEMORY_1,
    MEASURE_DESCRIPTORS_0, // open, of the replicas
    MEASURE_DESCRIPTORS_1,
    MEASURE_TABLES,      // MiB of tables and their indexes
    MEASURE_CONNECTIONS, // to the database
    MEASURE_GET,         // microseconds, median of a few asked one after the other
    MEASURE_PUT,
    MEASURES,
};

struct sample {
    double minute; // since the start
    double of[MEASURES];
};

struct samples {
    struct sample *all; // to be freed
    size_t count;
    size_t room;
};

// Takes one more.
void samples_add(struct samples *samples, const struct sample *sample);

// Writes them as comma-separated values with a line of names first. The test fails when it cannot.
void samples_write(const struct samples *samples, const char *path);

// The first measure that is more at the end (median of the last third) than in the middle (median of the
// second), beyond what each may waver; MEASURES when there is none. The first third is for warming up.
enum measure samples_growing(const struct samples *samples, double *middle, double *end);

const char *measure_name(enum measure measure);
