// What one entry may answer when calls come one after the other: the sequential rule that concurrent
// histories of PUT, GET and DELETE are held against, and the shape of a recorded call.
#pragma once

#include "model/linear.h"

enum entry_kind {
    ENTRY_PUT,
    ENTRY_GET,
    ENTRY_DELETE,
    ENTRY_KINDS,
};

enum entry_condition {
    CONDITION_NONE,
    CONDITION_IF_MATCH,  // If-Match: "expected"
    CONDITION_IF_ABSENT, // If-None-Match: *
};

enum entry_answer {
    ANSWER_CREATED,  // PUT 201
    ANSWER_DONE,     // PUT 204 over a live entry; DELETE 204
    ANSWER_VALUE,    // GET 200
    ANSWER_ABSENT,   // 404
    ANSWER_CONFLICT, // 412
    ANSWER_NOTHING,  // the service said that nothing was done
    ANSWER_UNKNOWN,  // no answer, or one that leaves it open
};

// One recorded call. Values and versions are numbers given out by the test (0 is none): every PUT writes a
// value that no other PUT writes.
struct entry_call {
    enum entry_kind kind;
    enum entry_condition condition;
    enum entry_answer answer;
    uint64_t expected; // the version in If-Match
    uint64_t value;    // written by PUT, read by GET
    uint64_t version;  // given by PUT, read by GET, the current one in a conflict (0: none is there)
    int64_t position;  // Holdfast-Position of an applied write, else 0
    unsigned client;
    int64_t invoked; // nanoseconds, monotonic
    int64_t returned;
};

extern const struct linear_rule entry_rule;

// What a status says that a call of this kind was answered; false when it may not get that status.
bool entry_answer_of(enum entry_kind kind, int status, enum entry_answer *answer);

const char *entry_kind_name(enum entry_kind kind);
const char *entry_answer_name(enum entry_answer answer);
