// Two replicas of the service on one PostgreSQL of their own, shared by the tests of a suite, with the
// database's clock in the test's hand.
#pragma once

#include <libpq-fe.h>
#include <stddef.h>
#include <stdint.h>

// Fixtures: start everything and wait until both replicas are ready; stop and remove it.
void replicas_start(void);
void replicas_stop(void);

// The port of replica 0 or 1.
uint16_t replicas_port(size_t replica);

// A connection to their database, to be closed with PQfinish.
PGconn *replicas_connect(void);

// Makes holdfast.now() answer `us` (microseconds since 1970) from now on; with 0 it runs again.
void replicas_set_clock(int64_t us);
