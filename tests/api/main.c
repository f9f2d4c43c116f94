// Runs every suite of the api tier on one private PostgreSQL; Check's CK_RUN_SUITE and CK_RUN_CASE pick one,
// CK_FORK=no keeps one process.
#include "api.h"

#include "support/failure.h"

static void fail_test(const char *line)
{
    ck_abort_msg("%s", line);
}

int main(void)
{
    api.postgres = postgres_new(NULL);
    SRunner *runner = srunner_create(NULL);
#define SUITE(name) srunner_add_suite(runner, name##_suite());
#include "suites.inc"
#undef SUITE
    support_on_failure(fail_test);
    srunner_run_all(runner, CK_ENV);
    support_on_failure(NULL);
    int ran = srunner_ntests_run(runner);
    int failed = srunner_ntests_failed(runner) + api_bad_ends();
    srunner_free(runner);
    postgres_free(api.postgres);
    return ran > 0 && failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
