// Runs the suites of the model tier.
#include "model/suites.h"
#include "support/check_main.h"

int main(int argc, char **argv)
{
    static Suite *(*const suites[])(void) = {checker_suite,      sequential_suite, concurrent_suite,
                                             leases_suite,       forks_suite,      transaction_checker_suite,
                                             transactions_suite, limits_suite,     once_suite};
    return check_main(argc, argv, suites, sizeof suites / sizeof suites[0]);
}
