// One place that ends a test, so that the harness itself need not know what runs it.
#include "support/failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void (*on_failure)(const char *line);

void support_on_failure(void (*handler)(const char *line))
{
    on_failure = handler;
}

void support_fail(const char *format, ...)
{
    char line[8192];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (on_failure)
        on_failure(line);
    fprintf(stderr, "%s\n", line);
    abort();
}
