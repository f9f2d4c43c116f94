// Telling whether two requests ask for the same.
#pragma once

#include "http/request.h"

enum { FINGERPRINT_BYTES = 32 };

// A cryptographic hash of all that gives the request its meaning: method, path, query, body, and of the
// headers the conditions, the content type, the metadata, the session link and what shape of reply is
// preferred.
void fingerprint(const struct request *request, uint8_t out[FINGERPRINT_BYTES]);
