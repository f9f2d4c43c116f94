-- Forks: reading, writing and listing through them, applying and discarding them.
--
-- Locks, in this order: class 7240007 and the fork's number, shared by who writes through it, exclusive for who closes it;
-- then those of the names (lock_names()). Who writes never waits for the first: a fork that is being closed is busy.

create or replace function holdfast.severed_to() returns bigint
language plpgsql stable
as $$
begin
    return (select max(f.revision) from holdfast.forks f where f.severed and not f.closed);
end
$$;
comment on function holdfast.severed_to() is
    'The revision of the last open severed fork, null when there is none: nobody needs images of what is above.';

create or replace function holdfast.fork_covers(buckets text[], name text) returns boolean
language sql immutable
as $$ select case when buckets is null then name >= ' ' collate "C" else name = any (buckets) end $$;
comment on function holdfast.fork_covers(text[], text) is
    'Whether a fork of these buckets (null: all) has the name in it. Buckets that belong to forks, which begin with a '
    'control character, are in none.';

create or replace function holdfast.fork_bucket_name(no integer, name text) returns text
language sql immutable
as $$ select chr(1) || 'fork:' || no::text || ':' || name $$;
comment on function holdfast.fork_bucket_name(integer, text) is
    'The name of the bucket that holds what the fork wrote in the bucket of this name. No name from outside has a control '
    'character.';

create or replace function holdfast.fork_buckets(no integer)
returns table (id integer, name text, own_name text, type text, ttl_us bigint, idle_us bigint, max_value_bytes integer,
               encrypted boolean, sealing text)
language sql stable
as $$
    select b.id, substr(b.name, length(holdfast.fork_bucket_name($1, '')) + 1), b.name, b.type, b.ttl_us, b.idle_us,
           b.max_value_bytes, b.encrypted, b.sealing
    from holdfast.buckets b
    where b.name >= holdfast.fork_bucket_name($1, '')
      and b.name < rtrim(holdfast.fork_bucket_name($1, ''), ':') || ';' -- what follows the colon
    order by b.name
$$;
comment on function holdfast.fork_buckets(integer) is
    'The fork''s own buckets (id, own_name, and the configuration), with the name of the bucket that each stands for.';

create or replace function holdfast.bucket_seen(severed boolean, revision bigint, name text)
returns table (id integer, kind text, type text, ttl_us bigint, idle_us bigint, max_value_bytes integer,
               encrypted boolean, sealing text)
language sql stable
as $$
    select b.id, b.kind, b.type, b.ttl_us, b.idle_us, b.max_value_bytes, b.encrypted, b.sealing
    from holdfast.buckets b where b.name = $3 and (not $1 or b.made <= $2)
    union all
    select d.bucket_id, d.kind, d.type, d.ttl_us, d.idle_us, d.max_value_bytes, coalesce(d.encrypted, false),
           d.sealing
    from holdfast.dropped_buckets d where $1 and d.name = $3 and d.made <= $2 and $2 < d.revision
$$;
comment on function holdfast.bucket_seen(boolean, bigint, text) is
    'What a fork sees as the main bucket of the name: the one of now, or of its revision when it is severed. No row when '
    'there is none.';

create or replace function holdfast.is_cleared_by(bucket_id integer, path bytea, version bigint, revision bigint)
returns boolean
language plpgsql stable cost 1
as $$
#variable_conflict use_column
begin
    return exists (select from holdfast.clears c where c.bucket_id = $1 and c.revision >= $3 and c.revision <= $4
                   and c.low <= $2 and (c.high is null or $2 < c.high));
end
$$;
comment on function holdfast.is_cleared_by(integer, bytea, bigint, bigint) is
    'Whether a clear up to the revision covers this version of the path.';

create or replace function holdfast.entry_seen(
    severed boolean, revision bigint, at timestamptz, main integer, path bytea
) returns table (version bigint, expires_at timestamptz, idle_us bigint, content_type text, metadata bytea, value bytea)
language sql stable
as $$
    select coalesce(i.low, e.version), case when i.low is null then e.expires_at else i.expires_at end,
           case when i.low is null then e.idle_us else i.idle_us end,
           case when i.low is null then e.content_type else i.content_type end,
           case when i.low is null then e.metadata else i.metadata end,
           case when i.low is null then e.value else i.value end
    from (select 1) one
    left join lateral (
        select x.* from holdfast.images x
        where $1 and x.bucket_id = $4 and x.path = $5 and x.high > $2 and x.low <= $2
        order by x.high limit 1) i on i.expires_at is null or i.expires_at > $3
    left join holdfast.entries e on i.low is null and e.bucket_id = $4 and e.path = $5
        and (e.expires_at is null or e.expires_at > $3) and (not $1 or e.version <= $2)
        and not holdfast.is_cleared_by(e.bucket_id, e.path, e.version, case when $1 then $2 else 9223372036854775807 end)
    where coalesce(i.low, e.version) is not null
$$;
comment on function holdfast.entry_seen(boolean, bigint, timestamptz, integer, bytea) is
    'What a fork that has not written the path sees of it in the main bucket: as of its revision and time (at) when it is '
    'severed; else at is now. No row when it is absent.';

create or replace function holdfast.get_fork_entries(
    names text[], which smallint[], ordinals smallint[], paths bytea[], unless bigint[], wants boolean[], forks text[],
    largest integer
) returns table (o smallint, status smallint, version bigint, expires_at timestamptz, idle_us bigint, content_type text,
                 metadata bytea, size integer, value bytea, kind text, now timestamptz)
language sql stable
as $$
    with c as materialized (
        select x.w, x.fork, f.severed, f.revision, own.id as own, m.id as main, r.now,
               case when f.severed then f.created_at else r.now end as at,
               case
                   when f.no is null then 20
                   when not holdfast.fork_covers(f.buckets, names[x.w]) then 22
                   when own.id is not null then null
                   when m.id is null then 2
                   when m.kind <> 'bucket' then 3
               end::smallint as status,
               case when own.id is null and m.kind <> 'bucket' then m.kind
                    else nullif(coalesce(
                        holdfast.declared_type(own.type, own.encrypted, own.sealing, own.max_value_bytes),
                        holdfast.declared_type(m.type, m.encrypted, m.sealing, m.max_value_bytes)), 'any') end as kind
        from (select distinct q.w, q.fork from unnest(which, forks) q(w, fork)) x
        cross join (select holdfast.now() as now offset 0) r
        left join holdfast.forks f on holdfast.fork_is(f.id, f.owner, x.fork) and not f.closed
        left join holdfast.buckets own on own.name = holdfast.fork_bucket_name(f.no, names[x.w])
        left join lateral holdfast.bucket_seen(f.severed, f.revision, names[x.w]) m on true
    )
    select q.o, coalesce(c.status, case when e.version is null then 1 end)::smallint, e.version, e.expires_at,
           case when k.path is not null or not c.severed then e.idle_us end, e.content_type, e.metadata,
           case when not v.given then octet_length(e.value) end, case when v.given then e.value end, c.kind,
           case when e.expires_at is not null and not (c.severed and k.path is null) then c.now end
    from unnest(which, ordinals, paths, unless, wants, forks) q(w, o, path, unless, wanted, fork)
    join c on c.w = q.w and c.fork = q.fork
    left join holdfast.fork_keys k on k.bucket_id = c.own and k.path = q.path
    left join lateral (
        select s.version, s.expires_at, s.idle_us, s.content_type, s.metadata, s.value
        from holdfast.entry_seen(c.severed, c.revision, c.at, c.main, q.path) s
        where k.path is null and c.status is null
        union all
        select o.version, o.expires_at, o.idle_us, o.content_type, o.metadata, o.value
        from holdfast.entries o
        where k.path is not null and o.bucket_id = c.own and o.path = q.path
          and (o.expires_at is null or o.expires_at > c.now)) e on true
    cross join lateral (
        select q.wanted and e.version is distinct from q.unless and octet_length(e.value) <= largest as given) v
$$;
comment on function holdfast.get_fork_entries(text[], smallint[], smallint[], bytea[], bigint[], boolean[], text[], integer) is
    'get_entries() through forks. Beside its statuses 20: there is no such open fork, 22: it does not cover the bucket. '
    'Where time stands still idle_us and now are null: a read renews nothing there.';

create or replace function holdfast.renew_fork_entries(
    names text[], which smallint[], ordinals smallint[], paths bytea[], versions bigint[], urgents boolean[], forks text[]
) returns table (o smallint, expires_at timestamptz)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    done boolean;
    owns text[];
    held text[];
    held_names text[];
begin
    owns := array(
        select coalesce(holdfast.fork_bucket_name(f.no, names[q.w]), chr(1) || 'none')
        from unnest(which, forks) with ordinality q(w, fork, i)
        left join holdfast.forks f on holdfast.fork_is(f.id, f.owner, q.fork) and not f.closed
        order by q.i);
    -- All at once, as whoever writes through a fork does: no one waits for the other half of the other.
    done := holdfast.lock_names(names || owns);
    held := array(
        select case
                   when k.path is not null then owns[q.i]
                   when f.severed is false then names[q.w]
                   else chr(1) || 'none'
               end
        from unnest(which, paths, forks) with ordinality q(w, path, fork, i)
        left join holdfast.forks f on holdfast.fork_is(f.id, f.owner, q.fork) and not f.closed
        left join holdfast.buckets own on own.name = owns[q.i]
        left join holdfast.fork_keys k on k.bucket_id = own.id and k.path = q.path
        order by q.i);
    held_names := array(select distinct x.name from unnest(held) x(name));
    return query
    select r.o, r.expires_at
    from holdfast.renew_entries(
        held_names,
        array(select array_position(held_names, x.name)::smallint from unnest(held) with ordinality x(name, i) order by x.i),
        ordinals, paths, versions, urgents) r;
end
$$;
comment on function holdfast.renew_fork_entries(text[], smallint[], smallint[], bytea[], bigint[], boolean[], text[]) is
    'renew_entries() of what was read through forks: the fork''s own row of a key that it wrote, else the main row, unless '
    'the fork is severed.';

create or replace function holdfast.page_of_fork_entries(
    fork text, name text, low bytea, high bytea, after bytea, skip integer, contains bytea, page integer
) returns table (status smallint, path bytea, version bigint, expires_at timestamptz, content_type text, size integer,
                 value bytea, kind text, metadata bytea)
language sql stable
as $$
    -- Three ordered streams, each no longer than the page. The conditions in CASE stay where they are: a probe for each row
    -- that is looked at, never a look at all that the fork wrote.
    select c.status, e.path, e.version, e.expires_at, e.content_type, octet_length(e.value), e.value, c.kind, e.metadata
    from (
        select f.severed, f.revision, r.now, case when f.severed then f.created_at else r.now end as at,
               own.id as own, case when m.kind = 'bucket' then m.id end as main,
               case
                   when f.no is null then 20
                   when not holdfast.fork_covers(f.buckets, $2) then 22
                   when own.id is not null then null
                   when m.id is null then 2
                   when m.kind <> 'bucket' then 3
               end::smallint as status,
               case when own.id is null and m.kind <> 'bucket' then m.kind
                    else nullif(coalesce(
                        holdfast.declared_type(own.type, own.encrypted, own.sealing, own.max_value_bytes),
                        holdfast.declared_type(m.type, m.encrypted, m.sealing, m.max_value_bytes)), 'any') end as kind,
               case when $5 >= $3 then $5 || '\x00'::bytea else $3 end as first, coalesce($4, '\xff') as beyond
        from (select holdfast.now() as now offset 0) r
        left join holdfast.forks f on holdfast.fork_is(f.id, f.owner, $1) and not f.closed
        left join holdfast.buckets own on own.name = holdfast.fork_bucket_name(f.no, $2)
        left join lateral holdfast.bucket_seen(f.severed, f.revision, $2) m on true
        offset 0) c
    left join lateral (
        select u.* from (
            (select e.path, e.version, e.expires_at, e.content_type, e.value, e.metadata
             from holdfast.entries e
             where c.status is null and e.bucket_id = c.own and e.path >= c.first and e.path < c.beyond
               and (e.expires_at is null or e.expires_at > c.now)
               and ($7 is null or holdfast.key_contains(substr(e.path, $6 + 1), $7))
             order by e.path limit $8)
            union all
            (select e.path, e.version, e.expires_at, e.content_type, e.value, e.metadata
             from holdfast.entries e
             where c.status is null and e.bucket_id = c.main and e.path >= c.first and e.path < c.beyond
               and (e.expires_at is null or e.expires_at > c.at)
               and (not c.severed or e.version <= c.revision)
               and ($7 is null or holdfast.key_contains(substr(e.path, $6 + 1), $7))
               and not holdfast.is_cleared_by(e.bucket_id, e.path, e.version,
                                              case when c.severed then c.revision else 9223372036854775807 end)
               and case when c.own is null then true
                        else not exists (select from holdfast.fork_keys k where k.bucket_id = c.own and k.path = e.path) end
               and case when not c.severed then true
                        else not exists (select from holdfast.images i
                                         where i.bucket_id = c.main and i.path = e.path
                                           and i.high > c.revision and i.low <= c.revision) end
             order by e.path limit $8)
            union all
            (select distinct on (i.path) i.path, i.low, i.expires_at, i.content_type, i.value, i.metadata
             from holdfast.images i
             where c.status is null and c.severed and i.bucket_id = c.main and i.path >= c.first and i.path < c.beyond
               and i.high > c.revision and i.low <= c.revision and (i.expires_at is null or i.expires_at > c.at)
               and ($7 is null or holdfast.key_contains(substr(i.path, $6 + 1), $7))
               and case when c.own is null then true
                        else not exists (select from holdfast.fork_keys k where k.bucket_id = c.own and k.path = i.path) end
             order by i.path, i.high limit $8)
        ) u
        order by u.path
        limit $8) e on true
$$;
comment on function holdfast.page_of_fork_entries(text, text, bytea, bytea, bytea, integer, bytea, integer) is
    'page_of_entries() through a fork; status 20 and 22 as get_fork_entries() has them.';

create or replace function holdfast.scan_fork_entries(
    fork text, name text, low bytea, high bytea, after bytea, skip integer, contains bytea, page integer, largest bigint
) returns table (status smallint, path bytea, version bigint, expires_at timestamptz, content_type text, size integer,
                 value bytea, kind text, metadata bytea)
language sql stable
as $$
    select p.status, p.path, p.version, p.expires_at, p.content_type, case when p.size > $9 then p.size end,
           case when p.size <= $9 then p.value end, p.kind, p.metadata
    from holdfast.page_of_fork_entries($1, $2, $3, $4, $5, $6, $7, $8) p
    order by p.path
$$;
comment on function holdfast.scan_fork_entries(text, text, bytea, bytea, bytea, integer, bytea, integer, bigint) is
    'scan_entries() through a fork.';

create or replace function holdfast.scan_large_fork_entries(
    fork text, name text, low bytea, high bytea, after bytea, skip integer, contains bytea, page integer, bytes bigint
) returns table (status smallint, path bytea, version bigint, expires_at timestamptz, content_type text, size integer,
                 value bytea, kind text, metadata bytea)
language sql stable
as $$
    select p.status, p.path, p.version, p.expires_at, p.content_type, p.size,
           case when p.so_far = p.size or p.so_far <= $9 then p.value end, p.kind, p.metadata
    from (select q.*, sum(q.size) over (order by q.path rows unbounded preceding) as so_far
          from holdfast.page_of_fork_entries($1, $2, $3, $4, $5, $6, $7, $8) q) p
    order by p.path
$$;
comment on function holdfast.scan_large_fork_entries(text, text, bytea, bytea, bytea, integer, bytea, integer, bigint) is
    'scan_large_entries() through a fork.';
