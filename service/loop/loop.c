// The loop itself: one epoll set, a binary heap of timers and an eventfd for other threads.
#include "loop/loop.h"

#include "base/timestamp.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    EVENTS_A_TURN = 256,
    PUT_OFF = 250,     // microseconds between two looks: somebody else had the processor meanwhile
    REST = 100 * 1000, // and is left it for so long
};

struct loop {
    int epoll;
    struct watch wake;
    struct timer **heap; // heap[1..timers]: the earliest first
    uint32_t timers;
    uint32_t capacity;
    int64_t now;
    int64_t (*turn)(void *user);
    void *turn_user;
    struct busy_poll *poll;
    int64_t rests_until; // not to be busy before
    bool stopped;
};

static void drain_wake(struct watch *watch, uint32_t events)
{
    (void)events;
    uint64_t count;
    while (read(watch->fd, &count, sizeof count) > 0) {
    }
}

struct loop *loop_new(void)
{
    struct loop *loop = calloc(1, sizeof *loop);
    if (!loop)
        return NULL;
    loop->wake = (struct watch){.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), .ready = drain_wake};
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->now = timestamp_monotonic();
    if (loop->epoll < 0 || loop->wake.fd < 0 || !loop_watch(loop, &loop->wake, EPOLLIN)) {
        loop_free(loop);
        return NULL;
    }
    return loop;
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    int saved = errno;
    if (loop->epoll >= 0)
        close(loop->epoll);
    if (loop->wake.fd >= 0)
        close(loop->wake.fd);
    free(loop->heap);
    free(loop);
    errno = saved;
}

bool loop_watch(struct loop *loop, struct watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, watch->fd, &event) == 0;
}

bool loop_rewatch(struct loop *loop, struct watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    return epoll_ctl(loop->epoll, EPOLL_CTL_MOD, watch->fd, &event) == 0;
}

void loop_unwatch(struct loop *loop, struct watch *watch)
{
    epoll_ctl(loop->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
}

static void heap_place(struct loop *loop, uint32_t slot, struct timer *timer)
{
    loop->heap[slot] = timer;
    timer->slot = slot;
}

static void heap_up(struct loop *loop, uint32_t slot, struct timer *timer)
{
    for (; slot > 1 && loop->heap[slot / 2]->at > timer->at; slot /= 2)
        heap_place(loop, slot, loop->heap[slot / 2]);
    heap_place(loop, slot, timer);
}

static void heap_down(struct loop *loop, uint32_t slot, struct timer *timer)
{
    for (;;) {
        uint32_t child = slot * 2;
        if (child > loop->timers)
            break;
        if (child < loop->timers && loop->heap[child + 1]->at < loop->heap[child]->at)
            child++;
        if (loop->heap[child]->at >= timer->at)
            break;
        heap_place(loop, slot, loop->heap[child]);
        slot = child;
    }
    heap_place(loop, slot, timer);
}

static void heap_reserve(struct loop *loop)
{
    if (loop->timers + 1 < loop->capacity)
        return;
    uint32_t capacity = loop->capacity ? loop->capacity * 2 : 64;
    struct timer **heap = realloc(loop->heap, capacity * sizeof *heap);
    if (!heap)
        abort();
    loop->heap = heap;
    loop->capacity = capacity;
}

void loop_timer_clear(struct loop *loop, struct timer *timer)
{
    uint32_t slot = timer->slot;
    if (!slot)
        return;
    timer->slot = 0;
    struct timer *last = loop->heap[loop->timers--];
    if (last == timer)
        return;
    if (slot > 1 && loop->heap[slot / 2]->at > last->at)
        heap_up(loop, slot, last);
    else
        heap_down(loop, slot, last);
}

void loop_timer_set(struct loop *loop, struct timer *timer, int64_t at)
{
    loop_timer_clear(loop, timer);
    heap_reserve(loop);
    timer->at = at;
    heap_up(loop, ++loop->timers, timer);
}

void loop_set_turn(struct loop *loop, int64_t (*turn)(void *user), void *user)
{
    loop->turn = turn;
    loop->turn_user = user;
}

static void fire_due(struct loop *loop)
{
    while (loop->timers && loop->heap[1]->at <= loop->now) {
        struct timer *timer = loop->heap[1];
        loop_timer_clear(loop, timer);
        timer->fire(timer);
    }
}

// Milliseconds for epoll_wait, rounded up so that a timer is never looked at before its time.
static int wait_time(struct loop *loop, int64_t turn_wait)
{
    int64_t wait = turn_wait;
    if (loop->timers) {
        int64_t until = loop->heap[1]->at - timestamp_monotonic();
        if (until < 0)
            until = 0;
        if (wait < 0 || until < wait)
            wait = until;
    }
    if (wait < 0)
        return -1;
    if (wait > 60 * 1000000)
        return 60 * 1000;
    return (int)((wait + 999) / 1000);
}

void loop_busy_poll(struct loop *loop, struct busy_poll *poll)
{
    loop->poll = poll;
}

// Until there is an event, or for the limit. Where processors are short, whoever is busy with waiting is put
// off by those it waits for.
static int look_again_and_again(struct loop *loop, struct epoll_event *events, int64_t began)
{
    int64_t looked = began;
    for (;;) {
        int n = epoll_wait(loop->epoll, events, EVENTS_A_TURN, 0);
        int64_t now = timestamp_monotonic();
        if (now - looked > PUT_OFF)
            loop->rests_until = now + REST;
        if (n != 0 || now - began >= loop->poll->limit)
            return n;
        looked = now;
    }
}

// What epoll_wait gives, which may be nothing.
static int await_events(struct loop *loop, struct epoll_event *events, int64_t turn_wait)
{
    int wait = wait_time(loop, turn_wait);
    if (!loop->poll || wait == 0)
        return epoll_wait(loop->epoll, events, EVENTS_A_TURN, wait);
    int64_t began = timestamp_monotonic();
    int n = 0;
    if (loop->poll->last < loop->poll->limit && began >= loop->rests_until)
        n = look_again_and_again(loop, events, began);
    if (n == 0)
        n = epoll_wait(loop->epoll, events, EVENTS_A_TURN, wait);
    loop->poll->last = timestamp_monotonic() - began;
    return n;
}

void loop_run(struct loop *loop)
{
    struct epoll_event events[EVENTS_A_TURN];
    int64_t turn_wait = 0;
    while (!loop->stopped) {
        int n = await_events(loop, events, turn_wait);
        loop->now = timestamp_monotonic();
        for (int i = 0; i < n; i++) {
            struct watch *watch = events[i].data.ptr;
            watch->ready(watch, events[i].events);
        }
        fire_due(loop);
        turn_wait = loop->turn ? loop->turn(loop->turn_user) : -1;
    }
}

void loop_stop(struct loop *loop)
{
    loop->stopped = true;
}

int64_t loop_now(const struct loop *loop)
{
    return loop->now;
}

void loop_wake(struct loop *loop)
{
    uint64_t one = 1;
    ssize_t written = write(loop->wake.fd, &one, sizeof one);
    (void)written; // a full counter wakes just as well
}
