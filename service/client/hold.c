// One loop waits for the command, for signals, for the time of the next renewal and for the answer to the
// last.
#include "client/hold.h"

#include "base/duration.h"
#include "client/answer.h"
#include "client/boot_time.h"
#include "client/exit_code.h"
#include "client/guard.h"
#include "client/own_files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONGEST_GRACE = 10 * 1000 * 1000, RETRY = 500 * 1000 };

static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

struct running {
    struct connection *connection;
    struct hold *hold;
    pid_t process; // also the id of its group
    int status;    // of its end
    bool ended;
    struct guard guard;
    sigset_t signals; // blocked here, and read from `inbox`
    sigset_t mask;    // as it was, and so
    void (*pipe_before)(int);
    int inbox;
    int timer;
    int output; // the reading end of its standard output, -1: not ours
    bool too_much;
    int terminal; // that it was given, -1: none
    CURLM *multi;
    struct curl_slist *headers;
    struct reply reply;
    bool asking; // a renewal is under way
    int64_t sent_at;
    int64_t renew_at;
};

// --- the command ------------------------------------------------------------------------------------------

static int64_t grace_of(const struct hold *hold)
{
    int64_t third = hold->ttl / 3, most = third < LONGEST_GRACE ? third : LONGEST_GRACE;
    return hold->grace && hold->grace < hold->ttl ? hold->grace : most;
}

// In the child: waits until it is guarded, then becomes the command; says by `failure` why not.
_Noreturn static void become_command(const struct running *running, int go, int output, int failure)
{
    char byte;
    setpgid(0, 0);
    if (read(go, &byte, 1) != 1)
        _exit(EXIT_FAILED);
    if (output >= 0)
        dup2(output, STDOUT_FILENO);
    sigprocmask(SIG_SETMASK, &running->mask, NULL);
    signal(SIGPIPE, running->pipe_before);
    own_files_close_sockets();
    execvp(running->hold->command[0], running->hold->command);
    int error = errno;
    _exit(write(failure, &error, sizeof error) < 0 || error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN);
}

// A terminal is for one group at a time.
static void hand_terminal(int terminal, pid_t group)
{
    if (terminal < 0)
        return;
    void (*before)(int) = signal(SIGTTOU, SIG_IGN);
    tcsetpgrp(terminal, group);
    signal(SIGTTOU, before);
}

static bool fork_command(struct running *running, int go[2], int failure[2], int output[2])
{
    bool kept = running->hold->output != NULL;
    if (pipe2(go, O_CLOEXEC) != 0 || pipe2(failure, O_CLOEXEC) != 0 ||
        (kept && pipe2(output, O_CLOEXEC) != 0))
        return false;
    running->process = fork();
    if (running->process == 0) {
        close(go[1]);
        become_command(running, go[0], kept ? output[1] : -1, failure[1]);
    }
    close(go[0]);
    close(failure[1]);
    if (kept)
        close(output[1]);
    running->output = kept ? output[0] : -1;
    return running->process > 0;
}

// Gives an exit code when the command did not begin, else EXIT_DONE.
static int start_command(struct running *running)
{
    int go[2], failure[2], output[2], error = 0;
    struct hold *hold = running->hold;
    if (!fork_command(running, go, failure, output))
        return EXIT_NOT_RUN;
    setpgid(running->process, running->process); // whoever of the two is first
    if (!guard_begin(&running->guard, running->process, hold->ends - grace_of(hold), hold->ends)) {
        kill(running->process, SIGKILL);
        return EXIT_NOT_RUN;
    }
    running->terminal = isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp() ? STDIN_FILENO : -1;
    hand_terminal(running->terminal, running->process);
    bool went = write(go[1], "", 1) == 1;
    close(go[1]);
    bool failed = !went || read(failure[0], &error, sizeof error) > 0;
    close(failure[0]);
    if (!failed)
        return EXIT_DONE;
    fprintf(stderr, "holdfast: %s: %s\n", hold->command[0], strerror(error));
    return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
}

static void read_output(struct running *running)
{
    struct buffer *output = running->hold->output;
    uint8_t chunk[16 * 1024];
    ssize_t got = read(running->output, chunk, sizeof chunk);
    if (got > 0 && output->size + (size_t)got <= running->hold->most_output) {
        buffer_add(output, chunk, (size_t)got);
    } else if (got > 0) {
        running->too_much = true;
        kill(-running->process, SIGKILL);
    } else if (got == 0 || errno != EAGAIN) {
        close(running->output);
        running->output = -1;
    }
}

// What it wrote before its end; what it left running may write on, to nobody.
static void read_rest(struct running *running)
{
    if (running->output < 0)
        return;
    fcntl(running->output, F_SETFL, O_NONBLOCK);
    for (size_t before = 0, first = 1; running->output >= 0 && !running->too_much; first = 0) {
        before = running->hold->output->size;
        read_output(running);
        if (!first && running->output >= 0 && running->hold->output->size == before)
            break;
    }
    if (running->output >= 0)
        close(running->output);
}

// --- renewing ---------------------------------------------------------------------------------------------

static void move_terms(struct running *running, int64_t warn_at, int64_t end_at)
{
    running->hold->ends = end_at;
    guard_move(&running->guard, warn_at, end_at);
}

static void begin_renewal(struct running *running)
{
    struct connection *connection = running->connection;
    struct hold *hold = running->hold;
    CURL *curl = connection->curl;
    reply_clear(&running->reply);
    connection_header(connection, "Content-Type", "application/json");
    running->headers = connection_take_headers(connection);
    connection_prepare(connection, curl, "PUT", hold->renew_target, hold->renew_body, true, running->headers);
    // An address that says nothing must leave time for the next.
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(hold->ttl / 4000 + 1));
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, reply_add_head);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &running->reply);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, reply_add_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &running->reply);
    running->sent_at = boot_time(); // before it is sent: the term cannot have begun earlier
    running->asking = curl_multi_add_handle(running->multi, curl) == CURLM_OK;
    running->renew_at = INT64_MAX;
}

static void stop_asking(struct running *running)
{
    if (running->asking)
        curl_multi_remove_handle(running->multi, running->connection->curl);
    running->asking = false;
    curl_slist_free_all(running->headers);
    running->headers = NULL;
}

static void renewed(struct running *running)
{
    struct arena arena = {0};
    const char *granted = reply_member(&running->reply, &arena, "ttl");
    struct hold *hold = running->hold;
    if (granted)
        duration_parse(bytes_of(granted), &hold->ttl);
    arena_free(&arena);
    int64_t end_at = running->sent_at + hold->ttl;
    move_terms(running, end_at - grace_of(hold), end_at);
    running->renew_at = running->sent_at + hold->ttl / 3;
}

static void lost(struct running *running)
{
    int64_t now = boot_time(), end_at = now + grace_of(running->hold);
    fprintf(stderr, "holdfast: %s is lost; the command is ended\n", running->hold->what);
    running->hold->lost = true;
    move_terms(running, now, end_at < running->hold->ends ? end_at : running->hold->ends);
    running->renew_at = INT64_MAX;
}

static void renewal_answered(struct running *running, CURLcode code)
{
    long status = 0;
    curl_easy_getinfo(running->connection->curl, CURLINFO_RESPONSE_CODE, &status);
    running->reply.status = code == CURLE_OK ? (int)status : 0;
    stop_asking(running);
    if (running->reply.status == 200) {
        renewed(running);
    } else if (running->reply.status == 409 || running->reply.status == 404) {
        lost(running);
    } else {
        int64_t soon = running->hold->ttl / 10;
        connection_use_next(running->connection);
        running->renew_at = boot_time() + (soon < RETRY ? soon : RETRY);
    }
}

static void drive_renewal(struct running *running)
{
    int left;
    CURLMsg *message;
    curl_multi_perform(running->multi, &left);
    while ((message = curl_multi_info_read(running->multi, &left)))
        if (message->msg == CURLMSG_DONE && running->asking)
            renewal_answered(running, message->data.result);
    if (!running->asking && !running->hold->lost && boot_time() >= running->renew_at)
        begin_renewal(running);
}

// --- the loop ---------------------------------------------------------------------------------------------

// It is left to be waited for, so that its id stays its own while it is guarded.
static void look_for_end(struct running *running)
{
    siginfo_t end = {0};
    if (waitid(P_PID, (id_t)running->process, &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid)
        running->ended = true;
}

static void read_signals(struct running *running)
{
    struct signalfd_siginfo signal;
    while (read(running->inbox, &signal, sizeof signal) == sizeof signal)
        if (signal.ssi_signo != SIGCHLD)
            kill(-running->process, (int)signal.ssi_signo);
    look_for_end(running);
}

static void set_timer(struct running *running)
{
    int64_t at = running->renew_at;
    struct itimerspec when = {0};
    if (!running->asking && at != INT64_MAX)
        when.it_value = (struct timespec){.tv_sec = at / 1000000, .tv_nsec = at % 1000000 * 1000 + 1};
    timerfd_settime(running->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void turn(struct running *running)
{
    struct curl_waitfd extra[] = {{.fd = running->inbox, .events = CURL_WAIT_POLLIN},
                                  {.fd = running->timer, .events = CURL_WAIT_POLLIN},
                                  {.fd = running->output, .events = CURL_WAIT_POLLIN}};
    unsigned count = running->output >= 0 ? 3 : 2;
    set_timer(running);
    curl_multi_poll(running->multi, extra, count, 60 * 1000, NULL);
    if (count == 3 && extra[2].revents)
        read_output(running);
    read_signals(running);
    if (!running->ended)
        drive_renewal(running);
}

static bool open_loop(struct running *running)
{
    sigemptyset(&running->signals);
    sigaddset(&running->signals, SIGCHLD);
    for (size_t i = 0; i < sizeof forwarded / sizeof forwarded[0]; i++)
        sigaddset(&running->signals, forwarded[i]);
    sigprocmask(SIG_BLOCK, &running->signals, &running->mask);
    running->pipe_before = signal(SIGPIPE, SIG_IGN); // of the guard's pipe
    running->inbox = signalfd(-1, &running->signals, SFD_CLOEXEC | SFD_NONBLOCK);
    running->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    running->multi = curl_multi_init();
    return running->inbox >= 0 && running->timer >= 0 && running->multi;
}

static void close_loop(struct running *running)
{
    stop_asking(running);
    curl_multi_cleanup(running->multi);
    close(running->inbox);
    close(running->timer);
    reply_free(&running->reply);
    sigprocmask(SIG_SETMASK, &running->mask, NULL);
}

static int code_of(const struct running *running, bool struck)
{
    if (running->too_much) {
        fputs("holdfast: the command's output is too large to be kept\n", stderr);
        return EXIT_FAILED;
    }
    if (struck || running->hold->lost) {
        if (!running->hold->lost)
            fprintf(stderr, "holdfast: %s ended before it could be renewed, and with it the command\n",
                    running->hold->what);
        running->hold->lost = true;
        return EXIT_LOST;
    }
    return WIFEXITED(running->status) ? WEXITSTATUS(running->status) : 128 + WTERMSIG(running->status);
}

int hold_run(struct connection *connection, struct hold *hold)
{
    struct running running = {.connection = connection,
                              .hold = hold,
                              .output = -1,
                              .terminal = -1,
                              .renew_at = hold->ends - hold->ttl + hold->ttl / 3};
    if (!open_loop(&running)) {
        perror("holdfast");
        return EXIT_NOT_RUN;
    }
    int code = start_command(&running);
    while (code == EXIT_DONE && !running.ended)
        turn(&running);
    read_rest(&running);
    bool struck = running.guard.process > 0 && guard_has_struck(&running.guard);
    if (running.guard.process > 0)
        guard_end(&running.guard);
    if (running.process > 0)
        waitpid(running.process, &running.status, 0);
    if (code == EXIT_DONE)
        code = code_of(&running, struck);
    hand_terminal(running.terminal, getpgrp());
    close_loop(&running);
    return code;
}
