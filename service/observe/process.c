// Reading /proc/self, as every client library of Prometheus does.
#include "observe/process.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void look_at_memory(struct process_facts *facts)
{
    unsigned long long size, resident;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return;
    if (fscanf(file, "%llu %llu", &size, &resident) == 2) {
        uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
        facts->virtual = size * page;
        facts->resident = resident * page;
    }
    fclose(file);
}

// Ticks since the machine was started, the 22nd field of /proc/self/stat; the second one, the program's name,
// may hold any byte.
static uint64_t start_ticks(void)
{
    char line[1024];
    unsigned long long ticks = 0;
    FILE *file = fopen("/proc/self/stat", "re");
    if (!file)
        return 0;
    size_t size = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[size] = 0;
    const char *after = strrchr(line, ')');
    if (after &&
        sscanf(after + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
               &ticks) != 1)
        return 0;
    return ticks;
}

static uint64_t machine_started(void)
{
    char line[256];
    unsigned long long seconds = 0;
    FILE *file = fopen("/proc/stat", "re");
    if (!file)
        return 0;
    while (!seconds && fgets(line, sizeof line, file))
        if (sscanf(line, "btime %llu", &seconds) != 1)
            seconds = 0;
    fclose(file);
    return seconds;
}

static uint64_t count_descriptors(void)
{
    uint64_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (!folder)
        return 0;
    for (const struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count ? count - 1 : 0; // the folder itself was open
}

static uint64_t microseconds(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

void process_look(struct process_facts *facts)
{
    struct rlimit limit;
    struct rusage usage;
    memset(facts, 0, sizeof *facts);
    look_at_memory(facts);
    facts->descriptors = count_descriptors();
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        facts->descriptors_limit = limit.rlim_cur;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        facts->cpu = microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
    uint64_t hertz = (uint64_t)sysconf(_SC_CLK_TCK);
    facts->started = machine_started() * 1000000 + start_ticks() * 1000000 / hertz;
}
