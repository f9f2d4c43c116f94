// The guard shares two times with the holder and has nothing else: no connection, no terminal, no signals.
#include "client/guard.h"

#include "client/boot_time.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

struct guard_terms {
    _Atomic int64_t warn_at;
    _Atomic int64_t end_at;
    _Atomic bool struck;
};

static void set_timer(int timer, int64_t at)
{
    int64_t past = at > 0 ? at : 1; // a timer for 0 never rings
    struct itimerspec when = {.it_value = {.tv_sec = past / 1000000, .tv_nsec = past % 1000000 * 1000}};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void strike(struct guard_terms *terms, pid_t group, int signal)
{
    atomic_store(&terms->struck, true);
    kill(-group, signal);
    kill(-group, SIGCONT); // a stopped command hears nothing
}

// The holder is gone, and nobody renews: the command gets what is left until the end, and no more.
static void end_alone(struct guard_terms *terms, pid_t group, int timer)
{
    strike(terms, group, SIGTERM);
    set_timer(timer, atomic_load(&terms->end_at));
    poll(&(struct pollfd){.fd = timer, .events = POLLIN}, 1, -1);
    strike(terms, group, SIGKILL);
}

_Noreturn static void watch(struct guard_terms *terms, pid_t group, int life, int timer)
{
    struct pollfd both[] = {{.fd = life, .events = POLLIN}, {.fd = timer, .events = POLLIN}};
    bool warned = false;
    for (;;) {
        int64_t now = boot_time(), end_at = atomic_load(&terms->end_at);
        int64_t warn_at = atomic_load(&terms->warn_at);
        if (now >= end_at) {
            strike(terms, group, SIGKILL);
            _exit(0);
        }
        if (now >= warn_at && !warned) {
            strike(terms, group, SIGTERM);
            warned = true;
        }
        set_timer(timer, warned ? end_at : warn_at);
        poll(both, 2, -1);
        char moved[64];
        if (both[0].revents && read(life, moved, sizeof moved) <= 0) {
            end_alone(terms, group, timer);
            _exit(0);
        }
    }
}

// Keeps nothing of the holder's: an open connection would keep its place in a queue, an open pipe its reader
// waiting.
_Noreturn static void become_guard(struct guard_terms *terms, pid_t group, int life)
{
    setpgid(0, 0);
    dup2(life, 0);
    close_range(1, ~0u, 0);
    int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    if (timer < 0) {
        strike(terms, group, SIGKILL);
        _exit(1);
    }
    watch(terms, group, 0, timer);
}

bool guard_begin(struct guard *guard, pid_t group, int64_t warn_at, int64_t end_at)
{
    int ends[2];
    void *memory =
        mmap(NULL, sizeof *guard->terms, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || pipe2(ends, O_CLOEXEC) != 0)
        return false;
    guard->terms = memory;
    atomic_store(&guard->terms->warn_at, warn_at);
    atomic_store(&guard->terms->end_at, end_at);
    guard->process = fork();
    if (guard->process == 0)
        become_guard(guard->terms, group, ends[0]);
    close(ends[0]);
    guard->life = ends[1];
    return guard->process > 0;
}

void guard_move(struct guard *guard, int64_t warn_at, int64_t end_at)
{
    atomic_store(&guard->terms->end_at, end_at);
    atomic_store(&guard->terms->warn_at, warn_at);
    // A later time is seen when the earlier one rings, an earlier one only now.
    if (write(guard->life, "", 1) < 0)
        return; // it has ended, and the command with it
}

bool guard_has_struck(const struct guard *guard)
{
    return atomic_load(&guard->terms->struck);
}

void guard_end(struct guard *guard)
{
    kill(guard->process, SIGKILL);
    waitpid(guard->process, NULL, 0);
    close(guard->life);
    munmap(guard->terms, sizeof *guard->terms);
}
