-- Once: who runs what, and the answers that are kept.

alter table holdfast.buckets add column run_ttl_us bigint;
comment on column holdfast.buckets.run_ttl_us is
    'Of a once: how long a runner may be silent before another takes its place.';

create table holdfast.once_runs (
    bucket_id integer not null,
    slot integer not null,
    token bigint not null,
    expires_at timestamptz not null,
    path bytea not null,
    primary key (bucket_id, path)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1);
comment on table holdfast.once_runs is
    'Runs under way. A row is live until expires_at and goes when the run ends; a run that begins after it replaces it. slot '
    'is the minute in which the sweeper first looks at it, so that no renewal touches an index.';
comment on column holdfast.once_runs.token is
    'What proves a run: the revision with which it began, so that it only grows for a path, also after the row went.';

create index once_runs_slot on holdfast.once_runs (slot);

create table holdfast.once_answers (
    bucket_id integer not null,
    slot integer not null,
    version bigint not null,
    expires_at timestamptz not null,
    path bytea not null,
    content_type text,
    value bytea not null,
    primary key (bucket_id, path)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1);
comment on table holdfast.once_answers is
    'Answers of runs that came to an end, kept until expires_at. slot is the minute in which the sweeper first looks.';
comment on column holdfast.once_answers.content_type is 'null stands for application/octet-stream';

create index once_answers_slot on holdfast.once_answers (slot);

-- lz4 where this server was built with it: half the time of the default for the same size.
do $$
begin
    execute 'alter table holdfast.once_answers alter column value set compression lz4';
exception when feature_not_supported then
    null;
end
$$;
