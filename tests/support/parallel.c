// A barrier and threads.
#include "support/parallel.h"

#include "support/failure.h"

#include <pthread.h>
#include <stdlib.h>

struct start {
    pthread_barrier_t *barrier;
    void (*work)(size_t index, void *user);
    void *user;
    size_t index;
};

static void *run(void *argument)
{
    struct start *start = argument;
    pthread_barrier_wait(start->barrier);
    start->work(start->index, start->user);
    return NULL;
}

void parallel_run(size_t count, void (*work)(size_t index, void *user), void *user)
{
    pthread_barrier_t barrier;
    pthread_t *threads = calloc(count, sizeof *threads);
    struct start *starts = calloc(count, sizeof *starts);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 512 * 1024);
    if (!threads || !starts || pthread_barrier_init(&barrier, NULL, (unsigned)count) != 0)
        support_fail("no memory for %zu threads", count);
    for (size_t i = 0; i < count; i++) {
        starts[i] = (struct start){&barrier, work, user, i};
        if (pthread_create(&threads[i], &attributes, run, &starts[i]) != 0)
            support_fail("thread %zu of %zu cannot start", i, count);
    }
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    pthread_attr_destroy(&attributes);
    free(starts);
    free(threads);
}
