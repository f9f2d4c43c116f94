// Medians, since one sample may fall into a checkpoint.
#include "soak/samples.h"

#include "support/failure.h"

#include <stdio.h>
#include <stdlib.h>

// How much more the end may have: a share of the middle, and beside it.
static const struct {
    const char *name;
    double share;
    double beside;
} measures[MEASURES] = {
    [MEASURE_MEMORY_0] = {"memory_0_mib", 0.05, 2},
    [MEASURE_MEMORY_1] = {"memory_1_mib", 0.05, 2},
    [MEASURE_DESCRIPTORS_0] = {"descriptors_0", 0, 6},
    [MEASURE_DESCRIPTORS_1] = {"descriptors_1", 0, 6},
    [MEASURE_TABLES] = {"tables_mib", 0.15, 4},
    [MEASURE_CONNECTIONS] = {"connections", 0, 6},
    [MEASURE_GET] = {"get_us", 0.5, 200},
    [MEASURE_PUT] = {"put_us", 0.5, 1000},
};

const char *measure_name(enum measure measure)
{
    return measures[measure].name;
}

void samples_add(struct samples *samples, const struct sample *sample)
{
    if (samples->count == samples->room) {
        samples->room = samples->room ? samples->room * 2 : 64;
        samples->all = realloc(samples->all, samples->room * sizeof *samples->all);
        if (!samples->all)
            support_fail("no memory for samples");
    }
    samples->all[samples->count++] = *sample;
}

void samples_write(const struct samples *samples, const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        support_fail("%s cannot be written", path);
    fputs("minute", file);
    for (int i = 0; i < MEASURES; i++)
        fprintf(file, ",%s", measures[i].name);
    for (size_t i = 0; i < samples->count; i++) {
        fprintf(file, "\n%.3f", samples->all[i].minute);
        for (int j = 0; j < MEASURES; j++)
            fprintf(file, ",%.2f", samples->all[i].of[j]);
    }
    fputs("\n", file);
    if (fclose(file) != 0)
        support_fail("%s was not written", path);
}

static int compare(const void *a, const void *b)
{
    const double *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static double median(const struct samples *samples, enum measure measure, size_t from, size_t to)
{
    double *sorted = calloc(to - from, sizeof *sorted);
    if (!sorted)
        support_fail("no memory for samples");
    for (size_t i = from; i < to; i++)
        sorted[i - from] = samples->all[i].of[measure];
    qsort(sorted, to - from, sizeof *sorted, compare);
    double result = sorted[(to - from) / 2];
    free(sorted);
    return result;
}

enum measure samples_growing(const struct samples *samples, double *middle, double *end)
{
    size_t third = samples->count / 3;
    for (enum measure i = 0; third && i < MEASURES; i++) {
        *middle = median(samples, i, third, 2 * third);
        *end = median(samples, i, 2 * third, samples->count);
        if (*end > *middle * (1 + measures[i].share) + measures[i].beside)
            return i;
    }
    return MEASURES;
}
