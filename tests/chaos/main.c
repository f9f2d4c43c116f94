// Runs the suites of the chaos tier; --minutes makes each of them run that long.
#include "chaos/suites.h"
#include "support/check_main.h"

int main(int argc, char **argv)
{
    static Suite *(*const suites[])(void) = {replicas_suite, embedded_suite, leases_suite, losing_suite,
                                             disk_suite};
    return check_main(argc, argv, suites, sizeof suites / sizeof suites[0]);
}
