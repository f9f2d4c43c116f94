// The command `serve`: the process around the workers.
#pragma once

#include "options.h"

// Runs until a signal ends it. Gives the exit code.
int serve(const struct options *options);
