// One line that tells the user why something cannot be done, written by whoever finds out first.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Where the line goes: memory of the caller's.
struct refusal {
    char *text;
    size_t size; // with the NUL
};

// Writes the line, on one line whatever its parts hold and cut to the room there is. Always false, so that it
// can be returned by a function that fails.
bool refuse(struct refusal *refusal, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Makes `text` one line: line ends inside become `separator`, those around it go, other control characters
// become spaces.
void refusal_flatten(char *text, char separator);
