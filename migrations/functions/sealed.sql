-- Sealed entries: what the database knows of them, which is neither their keys nor their values.

-- Readers and writers of a bucket learn its type from this. Whoever has checked a value for anything else has not sealed
-- it, and is refused: no value gets unsealed into an encrypted bucket.
create or replace function holdfast.declared_type(type text, encrypted boolean, sealing text, most integer) returns text
language sql immutable
as $$
    select case when encrypted
                then case when sealing is null then 'sealed:' else 'sealing:' || sealing || ':' end || most::text || ':' || type
                else type end
$$;
comment on function holdfast.declared_type(text, boolean, text, integer) is
    'The type that values of a bucket are to be checked for. Of an encrypted one: sealed (or sealing and the warrant '
    'for it, while it also has entries that are not), the size that a value may have, and the type it has inside.';

create or replace function holdfast.is_sealed(content_type text) returns boolean
language sql immutable
as $$ select content_type is not null and left(content_type, 1) = chr(1) $$;
comment on function holdfast.is_sealed(text) is 'Whether the row of this content type is sealed.';

create or replace function holdfast.opened_size(content_type text, value bytea) returns integer
language sql immutable
as $$ select octet_length(value) - case when left(content_type, 1) = chr(1) then 49 else 0 end $$;
comment on function holdfast.opened_size(text, bytea) is 'The bytes of the value itself: sealed, it has 49 more.';

create or replace function holdfast.fill_entries(
    names text[], which smallint[], ordinals smallint[], forks text[], paths bytea[], versions bigint[],
    content_types text[], metadatas bytea[], vals bytea[]
) returns table (o smallint, filled boolean)
language plpgsql volatile
as $$
#variable_conflict use_column
begin
    return query
    with f as (
        update holdfast.entries e
        set content_type = q.content_type, metadata = q.metadata, value = q.value
        from unnest(which, ordinals, forks, paths, versions, content_types, metadatas, vals)
             q(w, o, fork, path, version, content_type, metadata, value)
        left join holdfast.forks k on q.fork is not null and holdfast.fork_is(k.id, k.owner, q.fork) and not k.closed
        join holdfast.buckets b on b.name = case when q.fork is null then names[q.w]
                                                 else holdfast.fork_bucket_name(k.no, names[q.w]) end
        where e.bucket_id = b.id and e.path = q.path and e.version = q.version
        returning q.o)
    select x.o, f.o is not null from unnest(ordinals) x(o) left join f on f.o = x.o;
end
$$;
comment on function holdfast.fill_entries(text[], smallint[], smallint[], text[], bytea[], bigint[], text[], bytea[], bytea[]) is
    'Gives rows that were written in this transaction, and hold its locks, what they are to hold: a sealed value is bound to '
    'its version, which is known only when the row is written. forks: through which it was, null for none. Rows that the '
    'transaction itself replaced or removed meanwhile are passed over.';
