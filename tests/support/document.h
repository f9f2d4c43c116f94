// Every reply is held against the OpenAPI document: what it does not say, the service does not do.
#pragma once

#include "support/answer.h"

// Reads the document that was bundled with the build, and compiles its schemas. Done with the first reply
// when nobody asks before; a program that forks for its tests asks, so that it is done once.
void document_load(void);

// Why `answer` is not a reply that the document has for `method` and `target` (path and query as sent), NULL
// when it is: an operation, a status, a header or a member that the document lacks, a header that it wants
// and that is missing, a value or a content type of another form. Of a path or method that the document lacks
// a refusal is expected. The text is valid until the thread's next call.
const char *document_fault(const char *method, const char *target, const struct answer *answer);

// Fails the test when there is a fault.
void document_check(const char *method, const char *target, const struct answer *answer);
