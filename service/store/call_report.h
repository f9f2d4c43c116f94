// Calls in the log and in what is counted.
#pragma once

#include "base/log.h"
#include "store/connection.h"

// Logs an event of a call: its statement, role and SQLSTATE, and some of the requests that travelled in it.
void call_complain(const struct connection *connection, enum log_level level, const char *event,
                   const struct call *call);

// Counts a call that the server refused, by what is done then.
void call_count_refusal(const struct connection *connection, enum call_refusal refusal);

// Counts an answered call, charges its time to the requests in it, and logs it when it was slow.
void call_count_answer(const struct connection *connection, const struct call *call);

// Charges its time to the requests in a call whose connection broke before its answer came, and logs it.
void call_count_loss(const struct connection *connection, const struct call *call);
