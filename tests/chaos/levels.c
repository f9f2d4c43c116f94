// The bounds leave room for what comes and goes; what is left behind by each request or fault goes beyond
// them.
#include "chaos/levels.h"

#include "chaos/totals.h"
#include "support/clock.h"
#include "support/process.h"

#include <check.h>
#include <stdio.h>

enum {
    SETTLING_MS = 10 * 1000,
    MORE_DESCRIPTORS = 12, // than warm: connections that are being replaced, and the lazily opened ones
    MORE_SESSIONS = 8,     // of each replica: of kinds that the warm-up had no use for
    LEFT_DESCRIPTORS = 3,  // of each replica, idle
};

// Memory that was once needed for many large values at a time stays with the process.
static const double MOST_TIMES = 1.5, MORE_MIB = 16;

static struct {
    unsigned idle_descriptors; // of all replicas, together
    unsigned idle_sessions;
    unsigned descriptors; // of the replica that has most
    unsigned sessions;
    double mib;
    double most_mib; // ever seen
    unsigned most_descriptors;
    char fault[200]; // what is too much, empty when nothing is
} levels;

static unsigned sessions_of(const struct scene *scene)
{
    PGconn *connection = database_connect(&scene->database);
    int64_t count = sql_number(
        connection, "select count(*) from pg_stat_activity where application_name like 'holdfast %%'");
    PQfinish(connection);
    return (unsigned)count;
}

static unsigned descriptors_of(const struct scene *scene, size_t replica)
{
    return process_descriptors(service_pid(scene->replicas[replica]));
}

static double mib_of(const struct scene *scene, size_t replica)
{
    return process_resident_mib(service_pid(scene->replicas[replica]));
}

static unsigned all_descriptors(const struct scene *scene)
{
    unsigned sum = 0;
    for (size_t i = 0; i < scene->count; i++)
        sum += descriptors_of(scene, i);
    return sum;
}

void levels_note_idle(const struct scene *scene)
{
    levels.idle_descriptors = all_descriptors(scene);
    levels.idle_sessions = sessions_of(scene);
}

void levels_note_warm(const struct scene *scene)
{
    levels.sessions = sessions_of(scene);
    for (size_t i = 0; i < scene->count; i++) {
        unsigned descriptors = descriptors_of(scene, i);
        double mib = mib_of(scene, i);
        levels.descriptors = descriptors > levels.descriptors ? descriptors : levels.descriptors;
        levels.mib = mib > levels.mib ? mib : levels.mib;
    }
}

static void judge(const char *what, double now, double most)
{
    if (now > most && !levels.fault[0])
        snprintf(levels.fault, sizeof levels.fault, "%s: %.1f, and %.1f would be good", what, now, most);
}

static void judge_replica(const struct scene *scene, size_t replica)
{
    unsigned descriptors = descriptors_of(scene, replica);
    double mib = mib_of(scene, replica);
    judge("descriptors of a replica", descriptors, levels.descriptors + MORE_DESCRIPTORS);
    judge("memory of a replica, in MiB", mib, levels.mib * MOST_TIMES + MORE_MIB);
    levels.most_descriptors = descriptors > levels.most_descriptors ? descriptors : levels.most_descriptors;
    levels.most_mib = mib > levels.most_mib ? mib : levels.most_mib;
}

struct look {
    const struct scene *scene;
    int replica;
};

static bool is_warm(void *user)
{
    const struct look *look = user;
    levels.fault[0] = '\0';
    for (size_t i = 0; i < look->scene->count; i++)
        if (look->replica == LEVELS_ALL || look->replica == (int)i)
            judge_replica(look->scene, i);
    if (look->replica == LEVELS_ALL)
        judge("sessions of PostgreSQL", sessions_of(look->scene),
              levels.sessions + MORE_SESSIONS * (unsigned)look->scene->count);
    return !levels.fault[0];
}

void levels_check_warm(const struct scene *scene, int replica)
{
    struct look look = {scene, replica};
    bool warm = clock_wait(is_warm, &look, SETTLING_MS);
    ck_assert_msg(warm || load_is_broken(), "%s", levels.fault);
    totals_add(TOTAL_LEVELS, 1);
}

static bool is_idle(void *user)
{
    const struct scene *scene = user;
    unsigned sessions = sessions_of(scene);
    unsigned opened = sessions > levels.idle_sessions ? sessions - levels.idle_sessions : 0;
    levels.fault[0] = '\0';
    judge("descriptors of all replicas, idle", all_descriptors(scene),
          levels.idle_descriptors + opened + LEFT_DESCRIPTORS * (unsigned)scene->count);
    return !levels.fault[0];
}

void levels_check_idle(const struct scene *scene)
{
    bool idle = clock_wait(is_idle, (void *)(uintptr_t)scene, SETTLING_MS);
    printf("levels: %.1f MiB and %u descriptors of a replica when warm, at most %.1f and %u when looked at; "
           "%u sessions when warm, %u idle\n",
           levels.mib, levels.descriptors, levels.most_mib, levels.most_descriptors, levels.sessions,
           sessions_of(scene));
    fflush(stdout);
    ck_assert_msg(idle, "%s", levels.fault);
    totals_add(TOTAL_LEVELS, 1);
}
