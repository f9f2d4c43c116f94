// How the harness says that a test cannot go on, whatever kind of program it is part of.
#pragma once

// Tells `format` (as printf) and ends the test: by the handler, or else by a line on stderr and abort().
// Never returns.
_Noreturn void support_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Sets what support_fail does with its line (which is valid during the call); the handler must not return.
void support_on_failure(void (*handler)(const char *line));
