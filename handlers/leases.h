// Leases: acquire, renew, release, and who holds one.
#pragma once

struct request;

void lease_acquire(struct request *request);
void lease_renew(struct request *request);
void lease_release(struct request *request);
void lease_get(struct request *request);
