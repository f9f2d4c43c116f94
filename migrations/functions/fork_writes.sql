-- Writing through forks: the key's row as the fork sees it is put into the fork's own bucket, and the ordinary function
-- does the rest there.

create or replace function holdfast.enter_forks(names text[], which smallint[], paths bytea[], forks text[])
returns table (own_names text[], places smallint[], statuses smallint[], kinds text[], fresh boolean[], bases bigint[])
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    done boolean;
    t0 timestamptz;
    n integer;
    held integer[] := '{}';
    busy integer[] := '{}';
    owns text[];
begin
    for n in select f.no from holdfast.forks f
             where not f.closed and f.id = any (array(select split_part(q.fork, chr(1), 1) from unnest(forks) q(fork)))
             order by f.no loop
        if pg_catalog.pg_try_advisory_xact_lock_shared(7240007, n) then
            held := held || n;
        else
            busy := busy || n;
        end if;
    end loop;
    owns := array(
        select coalesce(holdfast.fork_bucket_name(f.no, names[q.w]), chr(1) || 'none')
        from unnest(which, forks) with ordinality q(w, fork, i)
        left join holdfast.forks f on holdfast.fork_is(f.id, f.owner, q.fork) and f.no = any (held)
        order by q.i);
    own_names := array(select distinct x.name from unnest(owns) x(name));
    places := array(select array_position(own_names, x.name)::smallint
                    from unnest(owns) with ordinality x(name, i) order by x.i);
    done := holdfast.lock_names(names || own_names);
    -- The waiters of a key wait under its own name, in whichever fork they do.
    done := holdfast.announce(names, which, paths, 'e');
    t0 := holdfast.now();

    select array_agg(case
                         when f.no = any (busy) then 21
                         when f.no is null or f.no <> all (held) then 20
                         when not holdfast.fork_covers(f.buckets, names[q.w]) then 22
                         when own.id is null and m.kind <> 'bucket' then 4
                     end::smallint order by q.i),
           array_agg(case when own.id is null then m.kind end order by q.i)
    into statuses, kinds
    from unnest(which, forks) with ordinality q(w, fork, i)
    left join holdfast.forks f on holdfast.fork_is(f.id, f.owner, q.fork) and not f.closed
    left join holdfast.buckets own on own.name = owns[q.i]
    left join lateral holdfast.bucket_seen(f.severed, f.revision, names[q.w]) m on true;

    insert into holdfast.buckets (name, type, ttl_us, idle_us, max_value_bytes, encrypted, sealing, created_at)
    select distinct owns[q.i], m.type, m.ttl_us, m.idle_us, m.max_value_bytes, m.encrypted, m.sealing, t0
    from unnest(which, forks) with ordinality q(w, fork, i)
    join holdfast.forks f on holdfast.fork_is(f.id, f.owner, q.fork) and not f.closed
    cross join lateral holdfast.bucket_seen(f.severed, f.revision, names[q.w]) m
    where statuses[q.i] is null
    on conflict (name) do nothing;

    -- A term that is over by now although the severed fork still sees its entry begins with the write, at what was left.
    insert into holdfast.entries (bucket_id, path, version, expires_at, idle_us, slot, content_type, metadata, value)
    select q.own, q.path, s.version, x.expires_at, s.idle_us, holdfast.slot_of(x.expires_at), s.content_type, s.metadata,
           s.value
    from (select distinct own.id as own, f.severed, f.revision, case when f.severed then f.created_at else t0 end as at,
                          m.id as main, p.path
          from unnest(which, paths, forks) with ordinality p(w, path, fork, i)
          join holdfast.forks f on holdfast.fork_is(f.id, f.owner, p.fork) and not f.closed
          join holdfast.buckets own on own.name = owns[p.i]
          cross join lateral holdfast.bucket_seen(f.severed, f.revision, names[p.w]) m
          where statuses[p.i] is null and m.kind = 'bucket') q
    cross join lateral holdfast.entry_seen(q.severed, q.revision, q.at, q.main, q.path) s
    cross join lateral (
        select case when s.expires_at <= t0 then t0 + (s.expires_at - q.at) else s.expires_at end as expires_at) x
    where not exists (select from holdfast.fork_keys k where k.bucket_id = q.own and k.path = q.path);

    select array_agg(k.path is null order by q.i), array_agg(e.version order by q.i) into fresh, bases
    from unnest(paths) with ordinality q(path, i)
    left join holdfast.buckets own on own.name = owns[q.i]
    left join holdfast.fork_keys k on k.bucket_id = own.id and k.path = q.path
    left join holdfast.entries e on k.path is null and e.bucket_id = own.id and e.path = q.path;
    return next;
end
$$;
comment on function holdfast.enter_forks(text[], smallint[], bytea[], text[]) is
    'Prepares a call of one of the functions for entries: own_names and places stand for names and which, of the forks'' own '
    'buckets, where each path that the fork has not written (fresh) lies as the fork sees it, at the version in bases (null: '
    'absent). statuses: null where the operation may go on; 4: the name is of another kind (kinds), 20: there is no such open '
    'fork, 21: it is being closed, 22: it does not cover the bucket. Those find no bucket in the call. leave_forks() must follow.';

create or replace function holdfast.leave_forks(
    own_names text[], places smallint[], ordinals smallint[], paths bytea[], fresh boolean[], bases bigint[],
    written smallint[]
) returns void
language plpgsql volatile
as $$
begin
    insert into holdfast.fork_keys (bucket_id, path, base_version)
    select distinct b.id, q.path, q.base
    from unnest(places, ordinals, paths, fresh, bases) q(w, o, path, fresh, base)
    join holdfast.buckets b on b.name = own_names[q.w]
    where q.fresh and q.o = any (written);
    if cardinality(written) < cardinality(ordinals) then
        delete from holdfast.entries e
        using unnest(places, paths, fresh) q(w, path, fresh), holdfast.buckets b
        where q.fresh and b.name = own_names[q.w] and e.bucket_id = b.id and e.path = q.path
          and not exists (select from holdfast.fork_keys k where k.bucket_id = b.id and k.path = q.path);
    end if;
end
$$;
comment on function holdfast.leave_forks(text[], smallint[], smallint[], bytea[], boolean[], bigint[], smallint[]) is
    'Notes the keys that were written (written: the ordinals of the operations that changed something), and takes back what '
    'enter_forks() put there for the others.';

create or replace function holdfast.put_fork_entries(
    names text[], which smallint[], ordinals smallint[], paths bytea[], vals bytea[], content_types text[],
    metadatas bytea[], checked text[], conditions smallint[], if_versions text[], unless_versions text[],
    ttls bigint[], untils timestamptz[], declares boolean[], forks text[]
) returns table (o smallint, status smallint, version bigint, expires_at timestamptz, most integer, type text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    f record;
    r record;
    i integer;
    written smallint[] := '{}';
begin
    select * into f from holdfast.enter_forks(names, which, paths, forks);
    for r in select * from holdfast.put_entries(f.own_names, f.places, ordinals, paths, vals, content_types, metadatas,
        checked, conditions, if_versions, unless_versions, ttls, untils,
        array(select d.declares and f.statuses[d.i] is null from unnest(declares) with ordinality d(declares, i)
              order by d.i)) loop
        i := array_position(ordinals, r.o);
        o := r.o; status := coalesce(f.statuses[i], r.status); version := r.version; expires_at := r.expires_at;
        most := r.most; type := coalesce(r.type, f.kinds[i]);
        if status <= 1 then
            written := written || o;
        end if;
        return next;
    end loop;
    perform holdfast.leave_forks(f.own_names, f.places, ordinals, paths, f.fresh, f.bases, written);
end
$$;
comment on function holdfast.put_fork_entries(text[], smallint[], smallint[], bytea[], bytea[], text[], bytea[], text[],
    smallint[], text[], text[], bigint[], timestamptz[], boolean[], text[]) is
    'put_entries() through forks; also the statuses of enter_forks().';

create or replace function holdfast.take_fork_entries(
    names text[], which smallint[], ordinals smallint[], paths bytea[], conditions smallint[], if_versions text[],
    unless_versions text[], forks text[], largest integer
) returns table (o smallint, status smallint, version bigint, kind text, taken bigint, content_type text, metadata bytea,
                 expires_at timestamptz, value bytea)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    f record;
    r record;
    i integer;
    written smallint[] := '{}';
begin
    select * into f from holdfast.enter_forks(names, which, paths, forks);
    for r in select * from holdfast.take_entries(f.own_names, f.places, ordinals, paths, conditions, if_versions,
                                                 unless_versions, largest) loop
        i := array_position(ordinals, r.o);
        o := r.o; status := coalesce(f.statuses[i], r.status); version := r.version;
        kind := coalesce(r.kind, f.kinds[i]); taken := r.taken; content_type := r.content_type; metadata := r.metadata;
        expires_at := r.expires_at; value := r.value;
        if status = 0 then
            written := written || o;
        end if;
        return next;
    end loop;
    perform holdfast.leave_forks(f.own_names, f.places, ordinals, paths, f.fresh, f.bases, written);
end
$$;
comment on function holdfast.take_fork_entries(text[], smallint[], smallint[], bytea[], smallint[], text[], text[], text[],
    integer) is
    'take_entries() through forks; also the statuses of enter_forks().';

create or replace function holdfast.delete_fork_entries(
    names text[], which smallint[], ordinals smallint[], paths bytea[], conditions smallint[], if_versions text[],
    unless_versions text[], forks text[]
) returns table (o smallint, status smallint, version bigint, kind text)
language sql volatile
as $$
    select t.o, t.status, t.version, t.kind
    from holdfast.take_fork_entries(names, which, ordinals, paths, conditions, if_versions, unless_versions, forks, -1) t
$$;
comment on function holdfast.delete_fork_entries(text[], smallint[], smallint[], bytea[], smallint[], text[], text[],
    text[]) is
    'delete_entries() through forks; also the statuses of enter_forks().';

create or replace function holdfast.add_fork_entries(
    names text[], which smallint[], ordinals smallint[], paths bytea[], integers bigint[], floats double precision[],
    conditions smallint[], if_versions text[], unless_versions text[], ttls bigint[], declares boolean[], forks text[]
) returns table (o smallint, status smallint, version bigint, kind text, val text, expires_at timestamptz, most integer)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    f record;
    r record;
    i integer;
    written smallint[] := '{}';
begin
    select * into f from holdfast.enter_forks(names, which, paths, forks);
    for r in select * from holdfast.add_entries(f.own_names, f.places, ordinals, paths, integers, floats, conditions,
        if_versions, unless_versions, ttls,
        array(select d.declares and f.statuses[d.i] is null from unnest(declares) with ordinality d(declares, i)
              order by d.i)) loop
        i := array_position(ordinals, r.o);
        o := r.o; status := coalesce(f.statuses[i], r.status); version := r.version;
        kind := coalesce(r.kind, f.kinds[i]); val := r.val; expires_at := r.expires_at; most := r.most;
        if status = 0 then
            written := written || o;
        end if;
        return next;
    end loop;
    perform holdfast.leave_forks(f.own_names, f.places, ordinals, paths, f.fresh, f.bases, written);
end
$$;
comment on function holdfast.add_fork_entries(text[], smallint[], smallint[], bytea[], bigint[], double precision[],
    smallint[], text[], text[], bigint[], boolean[], text[]) is
    'add_entries() through forks; also the statuses of enter_forks().';

create or replace function holdfast.expire_fork_entries(
    names text[], which smallint[], ordinals smallint[], paths bytea[], conditions smallint[], if_versions text[],
    unless_versions text[], ttls bigint[], untils timestamptz[], forks text[]
) returns table (o smallint, status smallint, version bigint, kind text, expires_at timestamptz, pos bigint)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    f record;
    r record;
    i integer;
    written smallint[] := '{}';
begin
    select * into f from holdfast.enter_forks(names, which, paths, forks);
    for r in select * from holdfast.expire_entries(f.own_names, f.places, ordinals, paths, conditions, if_versions,
                                                   unless_versions, ttls, untils) loop
        i := array_position(ordinals, r.o);
        o := r.o; status := coalesce(f.statuses[i], r.status); version := r.version;
        kind := coalesce(r.kind, f.kinds[i]); expires_at := r.expires_at; pos := r.pos;
        if status = 0 then
            written := written || o;
        end if;
        return next;
    end loop;
    perform holdfast.leave_forks(f.own_names, f.places, ordinals, paths, f.fresh, f.bases, written);
end
$$;
comment on function holdfast.expire_fork_entries(text[], smallint[], smallint[], bytea[], smallint[], text[], text[],
    bigint[], timestamptz[], text[]) is
    'expire_entries() through forks; also the statuses of enter_forks().';
