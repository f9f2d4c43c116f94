// Many processes that hold one lease in turn while a replica is killed: never two at once.
#include "client_steps.h"

#include "support/clock.h"
#include "support/process.h"
#include "support/scratch.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { PROCESSES = 20, LINES = 5 };

// Appends lines with the process's number, slowly, and notes its fencing token before and after.
static const char work[] = "exec \"$0\" lock %s --wait 60s --ttl 20s --url %s,%s -- sh -c '"
                           "echo begin $HOLDFAST_FENCE >>shared; "
                           "for i in 1 2 3 4 5; do echo %d >>shared; sleep 0.01; done; echo end >>shared'";

static size_t shared_lines(char **text)
{
    size_t size, lines = 0;
    char *path = scratch_printf("%s/shared", client_folder());
    *text = scratch_read(path, &size);
    free(path);
    for (size_t i = 0; i < size; i++)
        lines += (*text)[i] == '\n';
    return lines;
}

static bool some_are_done(void *user)
{
    (void)user;
    char *text;
    size_t lines = shared_lines(&text);
    free(text);
    return lines >= (size_t)(LINES + 2) * 4;
}

// Each section is whole and of one process, and tokens grow from one to the next.
static int judge(char *text)
{
    int sections = 0, inside = -1, count = 0;
    long long token = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (!strncmp(line, "begin ", 6)) {
            long long next = strtoll(line + 6, NULL, 10);
            if (inside >= 0 || next <= token)
                ck_abort_msg("a section begins within another, or with a token that is not higher: %s", line);
            token = next;
            inside = 0;
            count = 0;
        } else if (!strcmp(line, "end")) {
            if (count != LINES)
                ck_abort_msg("a section has %d lines", count);
            inside = -1;
            sections++;
        } else {
            int who = atoi(line);
            if (inside < 0 || (inside > 0 && who != inside))
                ck_abort_msg("%d writes in the section of %d", who, inside);
            inside = who;
            count++;
        }
    }
    return sections;
}

START_TEST(client_locks_never_interleave)
{
    const char *lease = TEXT("%s/k", api_bucket());
    struct service *twin = service_start(&(struct service_options){.database = api.database.url});
    pid_t processes[PROCESSES];
    char *text;
    for (int i = 0; i < PROCESSES; i++) {
        const char *first = service_url(i % 2 ? api.service : twin);
        const char *second = service_url(i % 2 ? twin : api.service);
        processes[i] = client_start_script(TEXT(work, lease, first, second, i + 1), client_folder(), first);
    }
    ck_assert(clock_wait(some_are_done, NULL, 30 * 1000));
    service_kill(twin);
    for (int i = 0; i < PROCESSES; i++) {
        int code = process_wait(processes[i], 60 * 1000);
        if (code != 0)
            ck_abort_msg("process %d ended with %d", i, code);
    }
    shared_lines(&text);
    ck_assert_int_eq(judge(text), PROCESSES);
    free(text);
}
END_TEST

Suite *client_race_suite(void)
{
    const TTest *const tests[] = {client_locks_never_interleave, NULL};
    return api_suite("client_race", NULL, tests);
}
