// What is done to replicas, to PostgreSQL and to the connections between them, at random.
#pragma once

#include "chaos/bad_disk.h"
#include "chaos/load.h"
#include "support/cut_proxy.h"
#include "support/postgres.h"
#include "support/random.h"
#include "support/service.h"

// A server on a disk that may be bad, and replicas that reach it each by way of a proxy of ours.
struct scene {
    struct random random;
    size_t count;   // of replicas
    bool networked; // packets between them can be lost
    struct bad_disk *disk;
    char *keys; // folder of the key that seals
    struct postgres *postgres;
    struct database database;
    struct cut_proxy *proxies[LOAD_REPLICAS];
    struct service *replicas[LOAD_REPLICAS];
};

struct fault {
    const char *name;
    void (*run)(struct scene *scene); // ends with everything running again, if not yet ready
};

extern const struct fault faults[];

// How many there are; fewer where the scene has no network of its own.
size_t fault_count(const struct scene *scene);

// Starts all, with so many replicas, while this process has one thread; the load (load.h) is told where the
// replicas are. Fails the test when something does not start.
struct scene scene_start(uint64_t seed, size_t replicas);

// Ends all; the replicas must end well.
void scene_end(struct scene *scene);
