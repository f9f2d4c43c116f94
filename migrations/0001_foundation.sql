-- Buckets, entries, and the sequence that gives every write its place.

create sequence holdfast.revision as bigint increment 256 minvalue 1 start 256;
comment on sequence holdfast.revision is
    'Versions and positions. A draw reserves 256 of them: the drawn number and the 255 below it.';

create table holdfast.lifts (
    id bigint generated always as identity primary key,
    low bigint not null,
    high bigint not null,
    at timestamptz not null default clock_timestamp()
);
comment on table holdfast.lifts is
    'Ranges of revisions (above low, up to high) that this history of the database never issued: another history, lost '
    'by a restore or a failover, may have.';

create table holdfast.lifted (
    single boolean primary key default true check (single),
    mark xid not null
);
comment on table holdfast.lifted is
    'Whether the sequence was lifted in this database: mark is the transaction that wrote the row. A restored dump '
    'writes the row anew, so that mark and xmin differ, and the next write lifts again.';

create table holdfast.buckets (
    id integer generated always as identity primary key,
    name text collate "C" not null unique,
    kind text not null default 'bucket',
    type text not null default 'any',
    ttl_us bigint,
    idle_us bigint,
    encrypted boolean not null default false,
    max_value_bytes integer not null default 8388608,
    created_at timestamptz not null
);
comment on table holdfast.buckets is
    'Every declared name: one name, one kind. An id is never used again, so rows of a dropped bucket belong to nobody.';

create table holdfast.dropped_buckets (
    bucket_id integer primary key,
    at timestamptz not null
);
comment on table holdfast.dropped_buckets is 'Ids of dropped buckets that still have rows to free.';

create table holdfast.entries (
    bucket_id integer not null,
    slot integer,
    version bigint not null,
    expires_at timestamptz,
    idle_us bigint,
    path bytea not null,
    content_type text,
    metadata bytea,
    value bytea not null,
    primary key (bucket_id, path)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1);
comment on table holdfast.entries is
    'The entries. path is the branch and the key in one string of bytes; slot is the minute of the first known expiry, '
    'indexed instead of expires_at so that ordinary updates stay heap-only; idle_us is the term that reads renew.';
comment on column holdfast.entries.content_type is 'null stands for application/octet-stream';
comment on column holdfast.entries.metadata is 'lines of name, colon, value';

create index entries_slot on holdfast.entries (slot) where slot is not null;

-- lz4 where this server was built with it: half the time of the default for the same size.
do $$
begin
    execute 'alter table holdfast.entries alter column value set compression lz4';
exception when feature_not_supported then
    null;
end
$$;
