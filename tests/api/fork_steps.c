// Paths and checks of forks.
#include "fork_steps.h"

#include <stdatomic.h>
#include <unistd.h>

const char *fork_of(const char *kind, const char *buckets)
{
    static atomic_int made;
    const char *id = TEXT("fork-%d-%d", (int)getpid(), atomic_fetch_add(&made, 1));
    ck_status(PUT(TEXT("/v1/forks/%s", id),
                  bytes_of(TEXT("{\"kind\":\"%s\",\"buckets\":%s}", kind, buckets ? buckets : "null"))),
              201);
    return id;
}

const char *through(const char *path, const char *fork)
{
    return TEXT("%s%cfork=%s", path, strchr(path, '?') ? '&' : '?', fork);
}

const char *call_through(const char *path, const char *call, const char *fork)
{
    return TEXT("%s/%s?fork=%s", path, call, fork);
}

const char *scan_through(const char *bucket, const char *fork)
{
    return TEXT("/v1/buckets/%s/entries?fork=%s", bucket, fork);
}

void expect_promoted(const struct answer *answer, int64_t rows)
{
    ck_status(answer, 200);
    answer_need(answer, "Holdfast-Position");
    ck_reply(answer, json_integer_value(json_object_get(answer->json, "rows")) == rows);
}

int64_t fork_rows(const char *fork)
{
    struct answer *got = GET(TEXT("/v1/forks/%s", fork));
    ck_status(got, 200);
    return json_integer_value(json_object_get(got->json, "rows"));
}
