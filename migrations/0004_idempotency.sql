-- Replies kept for requests that may be sent again.

create table holdfast.idempotency (
    scope text collate "C" not null,
    key text collate "C" not null,
    fingerprint bytea not null,
    status smallint not null,
    headers bytea not null,
    body bytea not null,
    created_at timestamptz not null,
    primary key (scope, key)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1);
comment on table holdfast.idempotency is
    'The reply to each write that came with an Idempotency-Key and had an effect, written in the same transaction. Nothing '
    'of the request is here but a hash of it.';
comment on column holdfast.idempotency.scope is 'whose keys they are; empty for requests without a token';
comment on column holdfast.idempotency.headers is 'lines of name, colon, value';

create index idempotency_created_at on holdfast.idempotency (created_at);

-- lz4 where this server was built with it: half the time of the default for the same size.
do $$
begin
    execute 'alter table holdfast.idempotency alter column body set compression lz4';
exception when feature_not_supported then
    null;
end
$$;
