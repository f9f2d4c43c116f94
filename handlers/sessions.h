// The writes of a session.
#pragma once

struct request;

void session_writes(struct request *request);
