-- The one clock that decides about stored data.

create or replace function holdfast.now() returns timestamptz
language sql volatile parallel safe
as 'select pg_catalog.clock_timestamp()';
comment on function holdfast.now() is
    'The time by which everything expires, is granted and refills: the database''s, so that all replicas agree.';

create or replace function holdfast.schema_version() returns integer
language sql stable
as 'select max(number) from holdfast.migrations';
comment on function holdfast.schema_version() is 'The number of the last applied migration.';
