// A client that sends exactly the bytes it is told, in the pieces it is told, and reads replies strictly.
#pragma once

#include "support/answer.h"

#include <stdint.h>

struct raw;

// A connection to 127.0.0.1:`port`; fails the test when there is none within 10 s.
struct raw *raw_connect(uint16_t port);
void raw_close(struct raw *raw);

// Sends all bytes as one write; false when the connection broke, which is an answer too.
bool raw_send(struct raw *raw, struct bytes bytes);
bool raw_text(struct raw *raw, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Reads one reply within `limit_ms`. `head` says that it answers HEAD. Interim replies (1xx) are replies too.
// NULL when the connection ended or nothing whole came; the test fails when what came is no reply. It stays
// the connection's and passed no answer_check.
struct answer *raw_read(struct raw *raw, bool head, int limit_ms);

// Whether the peer closes within `limit_ms` without sending anything more.
bool raw_closes(struct raw *raw, int limit_ms);

// Whether nothing came for `ms` and the connection is open.
bool raw_silent(struct raw *raw, int ms);

// Ends our side of the stream; the peer's stays open.
void raw_shutdown(struct raw *raw);

// Closes with a reset instead of an orderly end.
void raw_abort(struct raw *raw);

int raw_fd(const struct raw *raw);
