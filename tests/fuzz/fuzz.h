// What every fuzz target has: the function that libFuzzer calls, and a condition that must hold for all
// inputs.
#pragma once

#include "base/bytes.h"

#include <stdio.h>
#include <stdlib.h>

// Takes one input, in memory of its exact size. Gives 0.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Ends the process, which libFuzzer reports with the input, when `condition` does not hold.
#define must(condition)                                                                                      \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                   \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)
