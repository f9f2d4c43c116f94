// Quotas: declare, take, give back, look, forget, drop.
#pragma once

struct request;

void quota_put(struct request *request);
void quota_get(struct request *request);
void quota_delete(struct request *request);

void quota_key_allow(struct request *request);
void quota_key_refund(struct request *request);
void quota_key_get(struct request *request);
void quota_key_delete(struct request *request);
