// What a correct service holds of counters, rate limits, gates and quotas, and what it answers to one call at
// a time.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// All times are microseconds, of moments since 1970.

enum { LIMIT_NAMES = 2, LIMIT_ADDRESSES = 8, LIMIT_OWNERS = 2, LIMIT_WINDOWS = 8, LIMIT_WINDOW_NAMES = 10 };

enum limit_kind { LIMIT_COUNTER, LIMIT_RATE, LIMIT_GATE, LIMIT_QUOTA, LIMIT_KINDS };

enum limit_action {
    LIMIT_DECLARE,
    LIMIT_SHOW,
    LIMIT_DROP,
    LIMIT_CLEAR,  // the branch of the address
    LIMIT_USE,    // add, allow, check
    LIMIT_LIFT,   // max of a counter
    LIMIT_REFUND, // of a quota
    LIMIT_PEEK,
    LIMIT_RESET,
};

// A key in its branch, percent-encoded; equal texts are equal bytes.
struct limit_address {
    const char *owners[LIMIT_OWNERS]; // outermost first
    size_t owner_count;
    const char *key;
};

extern const struct limit_address limit_addresses[LIMIT_ADDRESSES];

struct limit_rate {
    int64_t count; // in `us`
    int64_t us;
};

// What a name is declared as; only the members of its kind count.
struct limit_configuration {
    int64_t ttl; // 0: none
    struct limit_rate rate;
    int64_t burst;
    size_t window_count;
    size_t window_names[LIMIT_WINDOWS]; // numbers below LIMIT_WINDOW_NAMES, each once
    struct limit_rate windows[LIMIT_WINDOWS];
};

struct limit_call {
    enum limit_kind kind;
    enum limit_action action;
    size_t name;
    size_t address;
    int64_t n;      // uses, refunded ones, a summand, a value to lift to
    int64_t max;    // of a gate
    int64_t window; // of a gate
    struct limit_configuration declares;
};

struct window_reply {
    size_t name;
    int64_t used;
    int64_t limit;
    int64_t reset_at; // 0: not open
};

// `ok` and what follows it count where the status is 200 and the action uses or peeks.
struct limit_reply {
    int status;
    int64_t limit; // of a 400
    bool ok;
    int64_t left;
    int64_t retry_at; // 0: null
    int64_t value;    // of a counter
    int64_t current;  // of a gate
    int64_t resets_at;
    size_t window_count;
    struct window_reply windows[LIMIT_WINDOWS];
};

struct held_name {
    bool declared;
    struct limit_configuration configuration;
    int64_t rate_since;
};

struct held_counter {
    bool present;       // also while it is expired
    int64_t expires_at; // 0: never
    int64_t value;
};

struct held_rate {
    bool used;
    int64_t last;           // use
    struct limit_rate rate; // at the last use
    __int128 full_at; // when all uses are given back, in parts of a microsecond of which `rate.count` are one
};

struct held_gate {
    bool used;
    int64_t started;
    int64_t ends; // by the longest window that a call said
    int64_t passed;
};

struct held_window {
    int64_t started;
    int64_t ends; // 0: never used
    int64_t used;
};

struct held_key {
    struct held_counter counter;
    struct held_rate rate;
    struct held_gate gate;
    struct held_window windows[LIMIT_WINDOW_NAMES];
};

struct limit_model {
    int64_t now;
    struct held_name names[LIMIT_KINDS][LIMIT_NAMES];
    struct held_key keys[LIMIT_KINDS][LIMIT_NAMES][LIMIT_ADDRESSES];
};

// Does `call` to the model, and gives the only right reply.
struct limit_reply limit_model_call(struct limit_model *model, const struct limit_call *call);
