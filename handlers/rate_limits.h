// Rate limits: declare, take, look, reset, drop.
#pragma once

struct request;

void rate_limit_put(struct request *request);
void rate_limit_get(struct request *request);
void rate_limit_delete(struct request *request);

void rate_limit_key_allow(struct request *request);
void rate_limit_key_get(struct request *request);
void rate_limit_key_delete(struct request *request);
