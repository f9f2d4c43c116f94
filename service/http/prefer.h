// Preferences of a client (RFC 7240): what it would like, and gets where the call knows it.
#pragma once

#include "base/bytes.h"

// Finds a preference in the value of Prefer (several headers joined by commas) and gives its value without
// quotes, a view into `prefer`; empty when it has none. `name` is in lower case. Of several of one name the
// first counts. False when it is not there or the header is not a list of preferences up to there.
bool prefer_find(struct bytes prefer, const char *name, struct bytes *value);
