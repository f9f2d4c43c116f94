// How many processors this process may use, which decides whether one may be kept busy with waiting.
#pragma once

// At least 1: those that it may run on, and no more than the time that its container is given in full. What
// cannot be read limits nothing.
unsigned processors_usable(void);

// The whole processors in `text`, as the file cpu.max of cgroups has it: microseconds of each period or
// `max`, a space, the period. 0 for less than one; UINT_MAX for no limit, and for a text that is no such
// thing.
unsigned processors_of_quota(const char *text);
