// A network namespace whose loopback has rules of nftables: they drop packets where they arrive, so that
// senders believe them sent.
#include "chaos/network.h"

#include "support/failure.h"
#include "support/process.h"
#include "support/scratch.h"

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHAIN "inet chaos incoming"

enum { LIMIT_MS = 20 * 1000, RULE = 512 };

static char *log_path; // what the program said

static const char *program(void)
{
    static const char *const paths[] = {"/usr/sbin/nft", "/sbin/nft", "/usr/bin/nft"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        if (access(paths[i], X_OK) == 0)
            return paths[i];
    return NULL;
}

static bool run(const char *rule)
{
    unlink(log_path);
    struct process_options options = {
        .arguments = (const char *const[]){program(), rule, NULL}, .output = log_path, .stdout_fd = -1};
    return process_run(&options, LIMIT_MS) == 0;
}

static void run_or_fail(const char *rule)
{
    if (run(rule))
        return;
    char *text = scratch_read(log_path, NULL);
    support_fail("nft %s: %s", rule, text);
}

static bool raise_loopback(void)
{
    struct ifreq interface = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool raised = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &interface) == 0;
    if (fd >= 0)
        close(fd);
    return raised;
}

static bool leave_out(const char *reason)
{
    printf("left out: no packets are lost, since %s\n", reason);
    fflush(stdout);
    return false;
}

bool network_enter(void)
{
    if (!program())
        return leave_out("nft is not installed");
    if (unshare(CLONE_NEWNET) != 0)
        return leave_out("this process may not have a network of its own");
    if (!raise_loopback()) // without it nothing can be tested
        support_fail("the loopback of a new network cannot be used: %s", strerror(errno));
    char *folder = scratch_folder("network");
    log_path = scratch_printf("%s/log", folder);
    free(folder);
    if (!run("add table inet chaos; add chain " CHAIN " { type filter hook input priority 0; }"))
        return leave_out("the kernel takes no rules of nftables");
    return true;
}

// Adds a rule for packets that match, a text without an end to it.
static void add_rule(const char *match, unsigned percent)
{
    char rule[RULE], share[60] = "";
    if (percent < 100)
        snprintf(share, sizeof share, "numgen random mod 100 < %u", percent);
    snprintf(rule, sizeof rule, "add rule " CHAIN " %s %s counter drop", match, share);
    run_or_fail(rule);
}

void network_lose(enum network_packets which, unsigned percent, const uint16_t *ports, size_t count)
{
    char set[RULE / 4] = "", match[RULE];
    for (size_t i = 0; i < count; i++)
        snprintf(set + strlen(set), sizeof set - strlen(set), "%s%u", i ? ", " : "", ports[i]);
    if (which == NETWORK_OF_CLIENTS) {
        snprintf(match, sizeof match, "tcp dport != { %s } tcp sport != { %s }", set, set);
        add_rule(match, percent);
        return;
    }
    snprintf(match, sizeof match, "tcp dport { %s }", set);
    add_rule(match, percent);
    snprintf(match, sizeof match, "tcp sport { %s }", set);
    add_rule(match, percent);
}

size_t network_mend(void)
{
    size_t lost = 0;
    run_or_fail("list chain " CHAIN);
    char *text = scratch_read(log_path, NULL);
    for (const char *at = text; (at = strstr(at, "counter packets ")); at++)
        lost += strtoul(at + strlen("counter packets "), NULL, 10);
    free(text);
    run_or_fail("flush chain " CHAIN);
    return lost;
}
