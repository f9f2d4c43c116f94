-- Clearing whole branches at once.

alter table holdfast.buckets add column cleared_to bigint;
comment on column holdfast.buckets.cleared_to is
    'The highest revision of a clear whose rows are not all freed; only entries up to it need a look at holdfast.clears.';

create table holdfast.clears (
    bucket_id integer not null,
    revision bigint not null,
    low bytea not null,
    high bytea,
    primary key (bucket_id, revision)
);
comment on table holdfast.clears is
    'Ranges of paths (from low, below high) in which every entry up to the revision is absent, whether its row is freed '
    'or not. A range goes when its rows are.';
