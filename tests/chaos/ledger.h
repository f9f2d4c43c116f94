// What one client knows for certain of the entries that it alone writes: the last acknowledged state of each
// key, and the one write beside it whose outcome it never learned.
#pragma once

#include "support/entry_client.h"
#include "support/random.h"

enum { LEDGER_KEYS = 6, LEDGER_COMPLAINT = 600 };

// A key with its last acknowledged state. Value 0 stands for absent.
struct ledger_key {
    unsigned number;
    uint64_t value;
    char version[ENTRY_VERSION_ROOM]; // of `value`
    bool doubtful;                    // a write of `doubt` was sent and not answered for certain
    uint64_t doubt;
};

struct ledger {
    unsigned client;
    unsigned next_number;
    uint64_t next_value;
    struct ledger_key keys[LEDGER_KEYS]; // being written
    struct ledger_key *retired; // doubtful: never written again, so that two states stay possible, no more
    size_t retired_count;
    char (*versions)[ENTRY_VERSION_ROOM]; // every acknowledged one
    size_t version_count;
    int64_t position; // of the last acknowledged write
    size_t acknowledged, unavailable, unknown, refused_connections, broken_connections, reads;
    char complaint[LEDGER_COMPLAINT]; // the first broken promise, empty while there is none
};

// A ledger with LEDGER_KEYS keys that are absent.
void ledger_start(struct ledger *ledger, unsigned client);
void ledger_free(struct ledger *ledger);

// One random write or read of a key of the ledger through `client`; true when the service did it, false when
// it, or the connection, could not.
bool ledger_step(struct ledger *ledger, struct entry_client *client, struct random *random);

// Reads every key, written or retired, through `client`, which must answer. Gives how many doubtful writes
// turned out to have happened.
size_t ledger_verify(struct ledger *ledger, struct entry_client *client);
