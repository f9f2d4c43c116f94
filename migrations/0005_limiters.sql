-- Counters, rate limits, gates and quotas: what their names are declared as, and a row for each key in use.

alter table holdfast.buckets
    add column lose_us bigint,
    add column rate_count bigint,
    add column rate_us bigint,
    add column rate_since_us bigint,
    add column burst bigint,
    add column window_ids integer[],
    add column window_names text[],
    add column window_limits bigint[],
    add column window_us bigint[],
    add column last_window_id integer;
comment on column holdfast.buckets.lose_us is
    'Of counters and rate limits: how many microseconds of changes a crash of the server may lose; null for none.';
comment on column holdfast.buckets.rate_count is 'Of rate limits: so many in rate_us microseconds.';
comment on column holdfast.buckets.rate_since_us is
    'Since when the rate is what it is, in microseconds since 1970: what was used before flowed back at the rate before.';
comment on column holdfast.buckets.window_ids is
    'Of quotas: for each window a number that no other window of the quota ever had, so that one that was removed and '
    'declared again begins empty. last_window_id is the last one given.';

create table holdfast.counters (
    bucket_id integer not null,
    slot integer,
    expires_at timestamptz,
    value bigint not null,
    path bytea not null,
    primary key (bucket_id, path)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1);
comment on table holdfast.counters is
    'The counters. slot is the minute in which the sweeper first looks at the row, here and in the tables below, so that '
    'ordinary updates touch no index.';

create index counters_slot on holdfast.counters (slot) where slot is not null;

create table holdfast.rate_limits (
    bucket_id integer not null,
    slot integer not null,
    at_us bigint not null,
    rate_count bigint not null,
    rate_us bigint not null,
    debt numeric not null,
    path bytea not null,
    primary key (bucket_id, path)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1);
comment on table holdfast.rate_limits is
    'What the keys of rate limits have used and not got back yet. No row stands for nothing.';
comment on column holdfast.rate_limits.debt is
    'What was missing from the whole burst at at_us (microseconds since 1970), in parts of 1/rate_us of one use, of which '
    'rate_count flow back each microsecond: always whole numbers, so nothing is ever rounded.';

create index rate_limits_slot on holdfast.rate_limits (slot);

create table holdfast.rate_gates (
    bucket_id integer not null,
    slot integer not null,
    started_us bigint not null,
    ends_us bigint not null,
    used bigint not null,
    path bytea not null,
    primary key (bucket_id, path)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1);
comment on table holdfast.rate_gates is
    'The open windows of gates: since when, until when at the latest (microseconds since 1970), and how many passed.';

create index rate_gates_slot on holdfast.rate_gates (slot);

create table holdfast.quotas (
    bucket_id integer not null,
    slot integer not null,
    path bytea not null,
    window_ids integer[] not null,
    started_us bigint[] not null,
    ends_us bigint[] not null,
    used bigint[] not null,
    primary key (bucket_id, path)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1);
comment on table holdfast.quotas is
    'What the keys of quotas have used in their windows: for each window its number, since when it is open and until when '
    'at the latest (microseconds since 1970; 0 when it is not open), and what was used.';

create index quotas_slot on holdfast.quotas (slot);
