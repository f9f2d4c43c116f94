-- Forks: writes that only they see, and the rows that severed ones still see after the main data went on.

alter table holdfast.buckets
    add column made bigint not null default coalesce(pg_catalog.pg_sequence_last_value('holdfast.revision'), 0);
comment on column holdfast.buckets.made is
    'A revision that was issued before the bucket was declared, and after every severed fork that does not see it.';

alter table holdfast.dropped_buckets
    add column name text collate "C",
    add column kind text,
    add column type text,
    add column ttl_us bigint,
    add column idle_us bigint,
    add column max_value_bytes integer,
    add column made bigint,
    add column revision bigint;
comment on column holdfast.dropped_buckets.revision is
    'Where the drop stands: severed forks before it still see the bucket, as the columns beside it say.';

create index dropped_buckets_name on holdfast.dropped_buckets (name);

create table holdfast.forks (
    no integer generated always as identity primary key,
    severed boolean not null,
    closed boolean not null default false,
    id text collate "C" not null,
    parent text collate "C",
    buckets text[],
    revision bigint not null,
    created_at timestamptz not null,
    swept_bucket integer not null default -1,
    swept_path bytea not null default '',
    swept_high bigint not null default 0
);
comment on table holdfast.forks is
    'The open forks, and closed ones that left something to free. What a fork wrote lies in buckets of its own, one for '
    'each bucket it wrote in, whose names nobody outside can utter (fork_bucket_name()).';
comment on column holdfast.forks.buckets is 'The names it covers; null: all.';
comment on column holdfast.forks.revision is
    'A severed fork sees the main data with every write up to it and none above: it was drawn while nobody wrote.';
comment on column holdfast.forks.created_at is 'A severed fork judges by this time what is expired.';
comment on column holdfast.forks.swept_bucket is 'With swept_path and swept_high: how far the images were looked at after it closed.';

create unique index forks_open on holdfast.forks (id) where not closed;
create index forks_severed on holdfast.forks (revision) where severed and not closed;
create index forks_closed on holdfast.forks (no) where closed;

create table holdfast.fork_keys (
    bucket_id integer not null,
    path bytea not null,
    base_version bigint,
    primary key (bucket_id, path)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1);
comment on table holdfast.fork_keys is
    'The keys that a fork wrote, by its own bucket: it sees its own row of them, and where it has none they are absent.';
comment on column holdfast.fork_keys.base_version is 'The main version that the fork saw before its first write; null: absent.';

create table holdfast.images (
    bucket_id integer not null,
    low bigint not null,
    high bigint not null,
    expires_at timestamptz,
    idle_us bigint,
    path bytea not null,
    content_type text,
    metadata bytea,
    value bytea not null,
    primary key (bucket_id, path, high)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1);
comment on table holdfast.images is
    'Rows of entries as they were when they were changed while a severed fork saw them: from low, their version, to below '
    'high, the revision of the change or of the clear before it. One serves all forks in between; of several the one with the smallest high.';

-- lz4 where this server was built with it: half the time of the default for the same size.
do $$
begin
    execute 'alter table holdfast.images alter column value set compression lz4';
exception when feature_not_supported then
    null;
end
$$;
