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

create or replace function holdfast.schema_serves(known integer, release text) returns boolean
language sql stable
as $$
    select coalesce(max(m.number) >= known
                    and not bool_or(m.number > known and coalesce(m.serves_from, m.number) > known), false)
        and not exists (select from holdfast.function_files f where string_to_array(f.release, '.')::integer[]
                        < string_to_array(schema_serves.release, '.')::integer[])
    from holdfast.migrations m
$$;
comment on function holdfast.schema_serves(integer, text) is
    'Whether a binary of this release that knows the migrations up to this number may serve: they and its functions, or a '
    'later release''s, are there, and every later migration says that such a binary serves beside it.';
