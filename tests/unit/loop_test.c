// How the loop waits: asleep, or looking again and again while that is worth it.
#include "unit.h"

#include "base/timestamp.h"
#include "loop/loop.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT = 20 * 1000, LONG = 5 * LIMIT }; // microseconds

// A loop, and a pipe whose other end writes to it.
struct fixture {
    struct watch watch; // first: a pointer to it is a pointer to the fixture
    struct timer timer;
    struct busy_poll poll;
    struct loop *loop;
    int writes_to;
};

static void came(struct watch *watch, uint32_t events)
{
    (void)events;
    loop_stop(((struct fixture *)watch)->loop);
}

static void write_now(struct timer *timer)
{
    struct fixture *fixture = (struct fixture *)((char *)timer - offsetof(struct fixture, timer));
    ck_assert_int_eq(write(fixture->writes_to, "x", 1), 1);
}

static void start(struct fixture *fixture)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    *fixture = (struct fixture){
        .watch = {.fd = ends[0], .ready = came},
        .timer = {.fire = write_now},
        .poll = {.limit = LIMIT},
        .loop = loop_new(),
        .writes_to = ends[1],
    };
    ck_assert_ptr_nonnull(fixture->loop);
    ck_assert(loop_watch(fixture->loop, &fixture->watch, EPOLLIN));
    loop_busy_poll(fixture->loop, &fixture->poll);
}

static void end(struct fixture *fixture)
{
    loop_free(fixture->loop);
    close(fixture->watch.fd);
    close(fixture->writes_to);
}

static int64_t processor_time(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

// The loop waits for so long until there is an event; gives the processor's time that it took.
static int64_t wait_for(struct fixture *fixture, int64_t microseconds)
{
    loop_timer_set(fixture->loop, &fixture->timer, timestamp_monotonic() + microseconds);
    int64_t before = processor_time();
    loop_run(fixture->loop);
    return processor_time() - before;
}

START_TEST(event_that_is_there_ends_a_busy_wait)
{
    struct fixture fixture;
    start(&fixture);
    write_now(&fixture.timer);
    loop_run(fixture.loop);
    ck_assert_int_lt(fixture.poll.last, LIMIT);
    end(&fixture);
}
END_TEST

START_TEST(timer_behind_a_busy_wait_fires)
{
    struct fixture fixture;
    start(&fixture);
    int64_t began = timestamp_monotonic();
    wait_for(&fixture, LONG);
    ck_assert_int_ge(timestamp_monotonic() - began, LONG);
    end(&fixture);
}
END_TEST

// Who looked first would have used up to a whole limit.
START_TEST(long_waits_are_slept_through)
{
    struct fixture fixture;
    start(&fixture);
    fixture.poll.last = LIMIT;
    ck_assert_int_lt(wait_for(&fixture, LONG), LIMIT / 2);
    end(&fixture);
}
END_TEST

START_TEST(without_a_busy_poll_the_loop_sleeps)
{
    struct fixture fixture;
    start(&fixture);
    loop_busy_poll(fixture.loop, NULL);
    ck_assert_int_lt(wait_for(&fixture, LONG), LIMIT / 2);
    ck_assert_int_eq(fixture.poll.last, 0);
    end(&fixture);
}
END_TEST

// --- a processor that somebody else wants
// ---------------------------------------------------------------------------------------------

static int64_t used_before; // of the processor, when the second wait begins

// As a thread that gets the processor while the loop looks.
static void take_the_processor(int signal)
{
    (void)signal;
    int64_t until = timestamp_monotonic() + 2000;
    while (timestamp_monotonic() < until) {
    }
}

static void begin_second_wait(struct timer *timer)
{
    struct fixture *fixture = (struct fixture *)((char *)timer - offsetof(struct fixture, timer));
    ck_assert_int_eq(setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL), 0);
    fixture->poll.last = 0;
    fixture->timer.fire = write_now;
    loop_timer_set(fixture->loop, timer, timestamp_monotonic() + 2 * LIMIT);
    used_before = processor_time();
}

START_TEST(who_was_put_off_while_looking_sleeps)
{
    struct fixture fixture;
    start(&fixture);
    fixture.timer.fire = begin_second_wait;
    ck_assert_ptr_ne(signal(SIGALRM, take_the_processor), SIG_ERR);
    struct itimerval often = {.it_value.tv_usec = LIMIT / 4, .it_interval.tv_usec = LIMIT / 4};
    ck_assert_int_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
    loop_timer_set(fixture.loop, &fixture.timer, timestamp_monotonic() + 2 * LIMIT);
    loop_run(fixture.loop);
    ck_assert_int_lt(processor_time() - used_before, LIMIT / 2);
    signal(SIGALRM, SIG_DFL);
    end(&fixture);
}
END_TEST

Suite *loop_suite(void)
{
    const TTest *const tests[] = {
        event_that_is_there_ends_a_busy_wait, timer_behind_a_busy_wait_fires,
        long_waits_are_slept_through,         without_a_busy_poll_the_loop_sleeps,
        who_was_put_off_while_looking_sleeps, NULL,
    };
    return suite_of("loop", tests);
}
