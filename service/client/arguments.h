// What a client command was asked: its flags, what stands alone, and the command behind `--`.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ARGUMENTS_TEXTS = 64 };

// What a flag that may be repeated was given.
struct argument_texts {
    const char *texts[ARGUMENTS_TEXTS];
    int count;
};

// Texts are views into argv and the environment; NULL when not given, and durations are 0 then.
struct arguments {
    const char *urls; // with commas between
    const char *ca_file;
    const char *cert;
    const char *cert_key;
    int64_t timeout; // durations in microseconds
    bool json;
    const char *bucket; // named by --bucket: the place is the key alone then
    struct argument_texts under;
    bool key_base64;
    const char *fork;
    const char *file;
    const char *content_type;
    struct argument_texts metadata;
    const char *ttl;
    const char *expires_at;
    bool persist;
    const char *if_match;
    bool if_absent;
    bool fenced;
    const char *idempotency_key;
    const char *start;
    const char *end;
    const char *contains;
    int64_t limit; // 0: no limit
    bool values;
    bool null;
    bool below;
    int64_t count;
    int64_t wait;
    const char *holder;
    const char *token;
    int64_t grace;
    bool forget;
    bool resumes;
    const char *state;
    int64_t jobs;
    int64_t duration;
    int64_t reads; // in 100 requests
    int64_t keys;
    int64_t size;
    const char *alone[4];
    int alone_count;
    char **command; // what follows `--`, with a NULL behind it; NULL when there is none
};

struct command;

enum arguments_verdict { ARGUMENTS_OK, ARGUMENTS_HELP, ARGUMENTS_BAD };

// Reads argv[2..] and the environment for the command. With ARGUMENTS_BAD one line was written to standard
// error, with ARGUMENTS_HELP the help to standard output.
enum arguments_verdict arguments_read(const struct command *command, int argc, char **argv,
                                      struct arguments *arguments);

// A flag as help, completion and the manual know it.
struct flag {
    const char *name;  // without --
    const char *takes; // NULL for a switch
    const char *help;
};

// The command's flags one by one: the next at or behind `*at` (which begins at 0), false when there is none.
bool arguments_next_flag(const struct command *command, int *at, struct flag *flag);
