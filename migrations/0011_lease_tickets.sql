-- Grants whose reply was lost: the waiter that asks again is told of its own.

alter table holdfast.leases add column ticket bigint;
comment on column holdfast.leases.ticket is
    'The place in the queue that was granted the lease; null for one that was free.';
