// One thread's event loop: descriptors by epoll, timers by a heap, and work that ends each turn.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct loop;

// A descriptor that the loop watches. The object is the caller's and must stay where it is while it is
// watched and, after loop_unwatch, until the turn ends: the kernel may have reported it already.
struct watch {
    int fd;
    void (*ready)(struct watch *watch, uint32_t events); // EPOLLIN, EPOLLOUT, …
};

// A moment to be called at. Zero-initialise it, set `fire`; the object is the caller's.
struct timer {
    void (*fire)(struct timer *timer);
    int64_t at;    // timestamp_monotonic(), microseconds
    uint32_t slot; // place in the heap, from 1; 0 when not set
};

// A wait that is often short. A thread that sleeps is late by tens of microseconds, and a processor that had
// nothing else to do by more, so while waits end within `limit` the loop keeps looking instead, unless
// somebody else wants the processor. The object is the caller's.
struct busy_poll {
    int64_t limit; // microseconds
    int64_t last;  // how long the last such wait took
};

// NULL with errno when the kernel refuses.
struct loop *loop_new(void);
void loop_free(struct loop *loop);

// False with errno when the kernel refuses.
bool loop_watch(struct loop *loop, struct watch *watch, uint32_t events);
bool loop_rewatch(struct loop *loop, struct watch *watch, uint32_t events);
// Allowed for a watch that is not watched.
void loop_unwatch(struct loop *loop, struct watch *watch);

// (Re)sets the timer to fire once, at `at`.
void loop_timer_set(struct loop *loop, struct timer *timer, int64_t at);
void loop_timer_clear(struct loop *loop, struct timer *timer);

// Called at the end of every turn, after all events and timers; gives the time in microseconds after which it
// wants to be called again although nothing happens, or -1.
void loop_set_turn(struct loop *loop, int64_t (*turn)(void *user), void *user);

// How to wait from now on: `poll` must stay until it is replaced. NULL, as at first: asleep.
void loop_busy_poll(struct loop *loop, struct busy_poll *poll);

// Runs until loop_stop.
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

// The time at which this turn's events arrived, by timestamp_monotonic(): one clock reading serves the whole
// turn.
int64_t loop_now(const struct loop *loop);

// Asks, from any thread, for a turn soon. Async-signal-safe.
void loop_wake(struct loop *loop);
