// The suites' services: started before a suite's first test, judged after its last.
#include "api.h"

#include "support/failure.h"
#include "support/scratch.h"

#include <stdio.h>
#include <unistd.h>

enum { TEST_SECONDS = 120 }; // sanitizers are slow, and so is a busy machine

struct api api;
static const char *const *suite_flags;
static int bad_ends;
static unsigned buckets;

int api_bad_ends(void)
{
    return bad_ends;
}

const char *api_bucket(void)
{
    return TEXT("b-%d-%u", (int)getpid(), ++buckets);
}

const char *api_entry(const char *bucket, const char *key)
{
    return TEXT("/v1/buckets/%s/entries/%s", bucket, key);
}

static struct service *start(const char *const *flags)
{
    return service_start(&(struct service_options){.database = api.database.url, .flags = flags});
}

void api_start(const char *const *flags)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    api.service = start(flags);
}

static void end(struct service *service)
{
    if (!service)
        return;
    char *path = scratch_printf("%s", service_log(service));
    int code = service_stop(service, 30 * 1000);
    if (code != 0) {
        size_t size;
        char *log = scratch_read(path, &size);
        bad_ends++;
        fprintf(stderr, "a suite's service ended with %d: %s\n", code, size > 4000 ? log + size - 4000 : log);
        free(log);
    }
    free(path);
}

static void stop_all(void)
{
    end(api.service);
    end(api.twin);
    api.service = api.twin = NULL;
    database_drop(api.postgres, &api.database);
}

static void open_client(void)
{
    api.client = http_client_new(service_url(api.service));
}

static void close_client(void)
{
    http_client_free(api.client);
    api.client = NULL;
}

static Suite *suite_of(const char *name, SFun start_all, const TTest *const *tests)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, TEST_SECONDS);
    if (start_all) {
        tcase_add_unchecked_fixture(tcase, start_all, stop_all);
        tcase_add_checked_fixture(tcase, open_client, close_client);
    }
    for (; *tests; tests++)
        tcase_add_test(tcase, *tests);
    suite_add_tcase(suite, tcase);
    return suite;
}

static void start_plain(void)
{
    api_start(NULL);
}

static void start_flagged(void)
{
    api_start(suite_flags);
}

static void start_two(void)
{
    api_start(NULL);
    api.twin = start(NULL);
}

Suite *api_suite(const char *name, const char *const *flags, const TTest *const *tests)
{
    if (!flags)
        return suite_of(name, start_plain, tests);
    if (suite_flags)
        support_fail("flags for two suites: the second needs a fixture of its own");
    suite_flags = flags;
    return suite_of(name, start_flagged, tests);
}

Suite *api_suite_started(const char *name, SFun start_all, const TTest *const *tests)
{
    return suite_of(name, start_all, tests);
}

Suite *api_suite_of_two(const char *name, const TTest *const *tests)
{
    return suite_of(name, start_two, tests);
}

Suite *api_suite_bare(const char *name, const TTest *const *tests)
{
    return suite_of(name, NULL, tests);
}
