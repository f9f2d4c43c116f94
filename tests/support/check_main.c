// Options become environment variables, so that Check's forked children see them too.
#include "support/check_main.h"

#include "support/document.h"
#include "support/failure.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MINUTES = 7 * 24 * 60 };

static void end_test(const char *line)
{
    ck_abort_msg("%.4000s", line); // Check cannot carry more than 8 KiB
    abort();
}

static bool is_number(const char *text)
{
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

static bool read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        const char *variable = strcmp(argv[i], "--seed") == 0      ? "HOLDFAST_SEED"
                               : strcmp(argv[i], "--minutes") == 0 ? "HOLDFAST_MINUTES"
                                                                   : NULL;
        if (variable == NULL || i + 1 == argc || !is_number(argv[i + 1]) ||
            setenv(variable, argv[i + 1], true) != 0) {
            fprintf(stderr, "usage: %s [--seed N] [--minutes N]\n", argv[0]);
            return false;
        }
    }
    return true;
}

int check_main(int argc, char **argv, Suite *(*const *suites)(void), size_t count)
{
    if (!read_options(argc, argv)) {
        return 2;
    }
    support_on_failure(end_test);
    document_load();
    SRunner *runner = srunner_create(NULL);
    for (size_t i = 0; i < count; i++) {
        srunner_add_suite(runner, suites[i]());
    }
    srunner_run_all(runner, CK_ENV);
    bool good = srunner_ntests_run(runner) > 0 && srunner_ntests_failed(runner) == 0;
    srunner_free(runner);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

unsigned minutes_wanted(void)
{
    const char *text = getenv("HOLDFAST_MINUTES");
    if (text == NULL) {
        return 0;
    }
    errno = 0;
    unsigned long minutes = strtoul(text, NULL, 10);
    return errno == 0 && minutes <= MOST_MINUTES ? (unsigned)minutes : MOST_MINUTES;
}
