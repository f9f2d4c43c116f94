// What the client's exit codes mean, so that scripts need not read what is printed.
#pragma once

enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_ABSENT = 3,
    EXIT_CONFLICT = 4,    // a condition failed, or a name is of another kind
    EXIT_REFUSED = 5,     // another holds it, or a limit is used up
    EXIT_UNAVAILABLE = 6, // nobody answered, or what became of a write is not known
    EXIT_LOST = 7,        // what the command ran under ended before it did
    EXIT_NOT_RUN = 126,   // the command could not be run, and below was not found, as shells say it
    EXIT_NOT_FOUND = 127,
};
