// Gates: pass, look, reset, drop.
#pragma once

struct request;

void rate_gate_delete(struct request *request);

void rate_gate_key_check(struct request *request);
void rate_gate_key_get(struct request *request);
void rate_gate_key_delete(struct request *request);
