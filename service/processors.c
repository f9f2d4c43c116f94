// Asks the kernel: the affinity of the process, and the quota of its control group.
#include "processors.h"

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>

// In a container this is the container's own group; elsewhere the root's, which has no limit.
static const char quota_file[] = "/sys/fs/cgroup/cpu.max";

unsigned processors_of_quota(const char *text)
{
    uint64_t quota, period;
    if (sscanf(text, "%" SCNu64 " %" SCNu64, &quota, &period) != 2 || period == 0)
        return UINT_MAX;
    uint64_t whole = quota / period;
    return whole < UINT_MAX ? (unsigned)whole : UINT_MAX;
}

static unsigned within_quota(void)
{
    char text[64];
    FILE *file = fopen(quota_file, "re");
    if (!file)
        return UINT_MAX;
    unsigned whole = fgets(text, sizeof text, file) ? processors_of_quota(text) : UINT_MAX;
    fclose(file);
    return whole;
}

unsigned processors_usable(void)
{
    cpu_set_t set;
    unsigned usable = within_quota();
    if (sched_getaffinity(0, sizeof set, &set) == 0 && (unsigned)CPU_COUNT(&set) < usable)
        usable = (unsigned)CPU_COUNT(&set);
    return usable ? usable : 1;
}
