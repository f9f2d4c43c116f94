// The tokens that a worker knows. What it knows is good for a second: it is asked anew several times in that,
// and forgotten at once when somebody tells of a change; without an answer nothing that was known counts.
#pragma once

#include "handlers/context.h"
#include "security/token.h"

struct callers;

// `context` must have its store and listen. `closed`: without any token in the database nobody gets in.
struct callers *callers_new(struct context *context, bool closed);
void callers_stop(struct callers *callers); // before the store goes
void callers_free(struct callers *callers); // after it went

enum caller_verdict {
    CALLER_UNKNOWN, // the database has to be asked
    CALLER_NONE,    // no token is needed
    CALLER_GOOD,
    CALLER_BAD,
};

// Says at once what is known of who bears `authorization` (data NULL for none). With CALLER_GOOD `token` is
// the token, not held for the caller.
enum caller_verdict callers_know(struct callers *callers, struct bytes authorization, struct token **token);

// Asks the database; memory is the request's. `done` gets the verdict, never CALLER_UNKNOWN, or has to reply
// to an outcome that is unusable.
void callers_ask(struct callers *callers, struct request *request,
                 void (*done)(struct request *request, enum caller_verdict verdict, struct token *token),
                 void (*failed)(struct request *request, const struct outcome *outcome));

// Looks a token up by its id, given as the bucket; whether an outcome with rows has one.
extern const struct statement look_up_tokens;
bool callers_found(const struct outcome *outcome);

// Whether there is a token in the database, as far as known now.
bool callers_exist(const struct callers *callers);
