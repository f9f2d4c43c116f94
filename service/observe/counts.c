// The bounds, names and places of what is counted.
#include "observe/counts.h"

const struct histogram_bounds bounds_duration = {
    .count = 16,
    .scale = 1000000,
    .most = {100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, 2500000,
             5000000, 10000000},
};

const struct histogram_bounds bounds_wait = {
    .count = 10,
    .scale = 1000000,
    .most = {10000, 100000, 500000, 1000000, 5000000, 10000000, 30000000, 60000000, 120000000, 300000000},
};

const struct histogram_bounds bounds_batch = {
    .count = 9,
    .scale = 1,
    .most = {1, 2, 4, 8, 16, 32, 64, 128, 256},
};

const struct histogram_bounds bounds_size = {
    .count = 11,
    .scale = 1,
    .most = {16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216},
};

const uint16_t counted_statuses[STATUSES] = {0,   200, 201, 204, 404, 304, 409, 412, 202, 400, 401, 403,
                                             405, 413, 414, 415, 422, 428, 429, 431, 500, 501, 503, 505};

const char *const counted_role_names[COUNTED_ROLES] = {"read",  "write",       "large", "list",
                                                       "admin", "transaction", "async", "listen"};

const char *const counted_method_names[METHODS] = {"GET",    "HEAD",  "PUT",     "POST",
                                                   "DELETE", "PATCH", "OPTIONS", "other"};

static size_t method_place(struct bytes method)
{
    size_t place = 0;
    while (place < METHODS - 1 && !bytes_is(method, counted_method_names[place]))
        place++;
    return place;
}

struct route_counts *counts_of_route(struct counts *counts, int route, struct bytes method)
{
    if (route < 0)
        return &counts->by_route[counts->routes * 2 + method_place(method)];
    return &counts->by_route[(size_t)route * 2 + bytes_is(method, "HEAD")];
}

void count_status(struct route_counts *counts, int status)
{
    for (int i = 0; i < STATUSES; i++)
        if (counted_statuses[i] == status) {
            count_add(&counts->statuses[i], 1);
            return;
        }
    count_add(&counts->others, 1);
}

int counted_topic(char topic)
{
    switch (topic) {
    case 'e':
        return 0;
    case 'l':
        return 1;
    case 'o':
        return 2;
    default:
        return 3;
    }
}
