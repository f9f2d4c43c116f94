// What the kernel knows of this process: memory, descriptors, processor time, when it began.
#pragma once

#include <stdint.h>

// What cannot be learned is 0.
struct process_facts {
    uint64_t resident;    // bytes
    uint64_t virtual;     // bytes
    uint64_t cpu;         // microseconds, of all threads
    uint64_t started;     // microseconds since 1970
    uint64_t descriptors; // open now
    uint64_t descriptors_limit;
};

void process_look(struct process_facts *facts);
