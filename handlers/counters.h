// Counters: declare, add, lift to a greater value, read, reset, drop.
#pragma once

struct request;

void counter_put(struct request *request);
void counter_get(struct request *request);
void counter_delete(struct request *request);

void counter_key_add(struct request *request);
void counter_key_max(struct request *request);
void counter_key_get(struct request *request);
void counter_key_delete(struct request *request);
