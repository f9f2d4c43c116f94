// What a run of the load generator does, as its command line says.
#pragma once

#include "template.h"

#include <netinet/in.h>

enum { PLAN_STATUSES = 4 };

struct plan {
    struct sockaddr_in address;
    unsigned connections;
    double seconds;
    double warmup; // seconds before, which are checked but not counted
    uint32_t keys;
    uint32_t first; // index of the first key
    bool each_key;  // every key once, in order, instead of at random for a time
    int statuses[PLAN_STATUSES];
    int status_count;
    struct template request;
    struct template reply; // the body must equal it; no text when any will do
    struct template part;  // the body must contain it; no text when none is asked for
    struct template then;  // a second request after each reply, both counted as one; no text when there is
                           // none
    struct template then_reply;
    const char *take; // the text in the first reply's body behind which `then`'s {answer} stands
    bool apart;       // no two connections use one key
    bool base64;      // some template needs keys in base64
};

// Reads the command line. Prints usage and exits 0 for --help; on a fault prints one line and exits 2.
void plan_read(struct plan *plan, int count, char **arguments);
void plan_free(struct plan *plan);
