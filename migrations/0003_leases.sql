-- Leases, and those who queue for them.

create table holdfast.leases (
    bucket_id integer not null,
    slot integer not null,
    token bigint not null,
    position bigint not null,
    expires_at timestamptz not null,
    path bytea not null,
    holder text not null,
    primary key (bucket_id, path)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1);
comment on table holdfast.leases is
    'Who holds what. A row is live until expires_at (-infinity when it was released); a later grant replaces it. slot is '
    'the minute in which the sweeper first looks at it, so that no ordinary update touches an index.';
comment on column holdfast.leases.token is
    'What fences writes: a revision, so that it only grows for a path, also after the row was swept.';
comment on column holdfast.leases.position is 'Where the grant or the last renewal stands in its bucket; never the token.';

create index leases_slot on holdfast.leases (slot);

create table holdfast.lease_waiters (
    bucket_id integer not null,
    slot integer not null,
    ticket bigint not null,
    alive_until timestamptz not null,
    path bytea not null,
    primary key (bucket_id, path, ticket)
) with (fillfactor = 50);
comment on table holdfast.lease_waiters is
    'Who queues for a lease, in the order of their tickets, which are revisions. The process that holds the client''s '
    'connection moves alive_until on; whom it leaves behind is passed over, and freed in the minute slot.';

create index lease_waiters_slot on holdfast.lease_waiters (slot);
