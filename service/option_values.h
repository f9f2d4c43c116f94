// How the values of options are read, apart from which options there are, so that each form can be tested by
// itself.
#pragma once

#include <stdbool.h>

// Each reads `text` into the field of struct options that it is named after, of the type that is said here.
// False when it is not of the form; what the field holds then means nothing. Texts stay the caller's.

bool option_text(const char *text, void *field);     // const char *; not empty
bool option_database(const char *text, void *field); // const char *: an address that store/reach reads
bool option_listen(const char *text, void *field);   // const char *: an address that the listener reads
bool option_another(const char *text, void *field);  // struct option_texts: one more of them
bool option_origins(const char *text, void *field);  // const char *: origins with commas between, or *
bool option_switch(const char *text, void *field);   // bool
bool option_level(const char *text, void *field);    // enum log_level

bool option_duration(const char *text, void *field);         // int64_t: microseconds, above 0
bool option_duration_or_none(const char *text, void *field); // int64_t: the same, or 0
bool option_lease_ttl(const char *text, void *field);        // int64_t: no shorter than the shortest lease

bool option_size(const char *text, void *field);        // size_t: bytes, or KiB, MiB, GiB with k, m, g behind
bool option_body_memory(const char *text, void *field); // size_t: the same, no less than any body needs

bool option_workers(const char *text, void *field);             // int
bool option_connections(const char *text, void *field);         // unsigned, from 1
bool option_connections_or_none(const char *text, void *field); // unsigned, from 0
