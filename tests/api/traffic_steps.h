// Steps of tests that change something beneath clients which keep working: every request must succeed.
#pragma once

#include "api.h"

#include <pthread.h>
#include <stdatomic.h>

enum { TRAFFIC_CLIENTS = 6, TRAFFIC_PLACES = 3 };

struct traffic {
    const char *urls[TRAFFIC_PLACES]; // where clients ask; who finds nobody listening goes to the next
    int places;
    bool proxied; // a proxy is asked

    // The steps' own, from here on.
    pthread_t thread;
    atomic_bool stop;
    atomic_int done, failed;
    pthread_mutex_t lock;
    char fault[600]; // the first
};

// Begins to write, read, count, list, lease and commit from several clients at once. `urls` and `places` are
// given.
void traffic_begin(struct traffic *traffic);

// Waits until so many more requests were answered well; fails the test when one fails first.
void traffic_goes_on(struct traffic *traffic, int more);

// Ends it; the test fails unless every request succeeded.
void traffic_end(struct traffic *traffic);
