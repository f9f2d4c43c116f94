// Runs suites of the api tier on one private PostgreSQL: those named as arguments, or all; `--list` names
// them. Check's CK_RUN_CASE picks a case, CK_FORK=no keeps one process.
#include "api.h"

#include "support/document.h"
#include "support/failure.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    Suite *(*make)(void);
} suites[] = {
#define SUITE(name) {#name, name##_suite},
#include "suites.inc"
#undef SUITE
};

enum { SUITES = sizeof suites / sizeof suites[0] };

#ifdef __SANITIZE_ADDRESS__
// A test runs in a forked process that ends while its fixture's servers and clients are still held: what it
// leaves to the kernel is no leak. The service is a program of its own and is looked at in full.
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}
#endif

static void fail_test(const char *line)
{
    ck_abort_msg("%s", line);
}

static bool is_wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return argc < 2;
}

static bool is_known(const char *name)
{
    for (size_t i = 0; i < SUITES; i++)
        if (strcmp(suites[i].name, name) == 0)
            return true;
    fprintf(stderr, "there is no suite %s\n", name);
    return false;
}

static int list_suites(void)
{
    for (size_t i = 0; i < SUITES; i++)
        puts(suites[i].name);
    return EXIT_SUCCESS;
}

static int run_suites(int argc, char **argv)
{
    document_load();
    api.postgres = postgres_new(NULL);
    SRunner *runner = srunner_create(NULL);
    for (size_t i = 0; i < SUITES; i++)
        if (is_wanted(suites[i].name, argc, argv))
            srunner_add_suite(runner, suites[i].make());
    support_on_failure(fail_test);
    srunner_run_all(runner, CK_ENV);
    support_on_failure(NULL);
    int ran = srunner_ntests_run(runner);
    int failed = srunner_ntests_failed(runner) + api_bad_ends();
    srunner_free(runner);
    postgres_free(api.postgres);
    return ran > 0 && failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0)
        return list_suites();
    for (int i = 1; i < argc; i++)
        if (!is_known(argv[i]))
            return 2;
    return run_suites(argc, argv);
}
