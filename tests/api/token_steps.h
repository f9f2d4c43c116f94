// Steps that the suites about tokens share.
#pragma once

#include "entry_steps.h"

// Runs `holdfast token …` (a NULL ends the arguments) on the suite's database. Gives the exit code; `output`,
// to be freed, gets what it printed (NULL when it is not wanted).
int token_command(char **output, const char *const *arguments);

// The header line `Authorization: Bearer …` of an administrator's token that this test made by the command.
const char *root_bearer(void);

// The header line of a new token with these grants (each a text; a NULL ends them), and a prefix (NULL:
// none).
const char *bearer_of(const char *prefix, const char *const *grants);
#define BEARER(...)         bearer_of(NULL, (const char *const[]){__VA_ARGS__, NULL})
#define TENANT(prefix, ...) bearer_of(prefix, (const char *const[]){__VA_ARGS__, NULL})

// A name for a token that no other test uses.
const char *token_name(void);

// Sends the request until it is answered with this status, for at most a second; fails the test otherwise.
void expect_within_a_second(struct http_client *client, const char *method, const char *target,
                            const char *bearer, int status);
