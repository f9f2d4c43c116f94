// Runs the soak; --minutes says how long.
#include "soak/soak.h"
#include "support/check_main.h"

int main(int argc, char **argv)
{
    static Suite *(*const suites[])(void) = {soak_suite};
    return check_main(argc, argv, suites, sizeof suites / sizeof suites[0]);
}
