// A scrape as a strict reader sees it, which takes nothing that Prometheus might take otherwise.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct scrape;

// Reads text of Prometheus (0.0.4). The test fails, with the line, when it is not one: families begin with
// HELP and TYPE and lie together, names and labels are of the allowed characters, labels are escaped, no
// series comes twice, counters end in _total and are not negative, a histogram's buckets ascend and its last
// one is its count.
struct scrape *scrape_read(const char *text, size_t size);
void scrape_free(struct scrape *scrape);

// The value of a series as it is written, `name{label="value",…}`; -1 when it is not there.
double scrape_value(const struct scrape *scrape, const char *series);

// How many series have the text anywhere in their name or labels.
size_t scrape_mentions(const struct scrape *scrape, const char *text);
