// Runs every suite of the unit tier; Check's CK_RUN_SUITE and CK_RUN_CASE pick one, CK_FORK=no keeps one
// process.
#include "unit.h"

#include <stdlib.h>

int main(void)
{
    SRunner *runner = srunner_create(NULL);
#define SUITE(name) srunner_add_suite(runner, name##_suite());
#include "suites.inc"
#undef SUITE
    srunner_run_all(runner, CK_ENV);
    int ran = srunner_ntests_run(runner);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return ran > 0 && failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
