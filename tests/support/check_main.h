// What the mains of the Check programs share.
#pragma once

#include <check.h>

// Runs the suites and gives the program's exit code. Understands `--seed N`, which repeats a run with the
// seed that it printed, and `--minutes N`, which lets a test that runs for a time run longer (minutes_wanted
// says so). Check's own variables (CK_RUN_SUITE and so on) work as ever.
int check_main(int argc, char **argv, Suite *(*const *suites)(void), size_t count);

// What --minutes said; 0 when it was not given.
unsigned minutes_wanted(void);
