-- Forks as a whole: making, listing, applying and discarding them.

create or replace function holdfast.fork_is(id text, owner text, claim text) returns boolean
language sql immutable
as $$ select $1 = split_part($3, chr(1), 1) and split_part($3, chr(1), 2) in ('', coalesce($2, '')) $$;
comment on function holdfast.fork_is(text, text, text) is
    'Whether the fork of this id and owner (a token''s id; null: none) is the one that is claimed: an id, and behind '
    'chr(1) the token that must own it. Everywhere else a fork is called so, and one of another owner is absent.';

create or replace function holdfast.create_fork(id text, severed boolean, parent text, buckets text[], owner text)
returns table (status smallint, revision bigint, created_at timestamptz, bucket text, kind text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    done boolean;
    base bigint;
begin
    select b.name, b.kind into bucket, kind
    from holdfast.buckets b where b.name = any (create_fork.buckets) and b.kind <> 'bucket' order by b.name limit 1;
    if found then
        status := 2;
        return next;
        return;
    end if;
    -- A writer holds this lock shared from before its draw until its commit: when a severed fork has it alone, all that is
    -- numbered below is committed, and whoever writes next sees the fork.
    if create_fork.severed then
        done := pg_catalog.pg_advisory_xact_lock(7240002, 0) is null;
    else
        done := pg_catalog.pg_advisory_xact_lock_shared(7240002, 0) is null;
    end if;
    base := holdfast.draw_revision();
    insert into holdfast.forks (id, severed, parent, buckets, owner, revision, created_at)
    values (create_fork.id, create_fork.severed, create_fork.parent, create_fork.buckets, create_fork.owner, base + 1,
            holdfast.now())
    on conflict (id) where not closed do nothing
    returning revision, created_at into revision, created_at;
    status := case when found then 0 else 1 end;
    return next;
end
$$;
comment on function holdfast.create_fork(text, boolean, text, text[], text) is
    'Makes a fork of the buckets (null: all), at the price of one row. status 0: made, its place among the writes is '
    'revision; 1: there is an open one of this id; 2: the name bucket is of another kind (kind).';

create or replace function holdfast.list_forks(after text, page integer, owner text, administered text)
returns table (id text, severed boolean, parent text, buckets text[], own_rows bigint, created_at timestamptz,
               revision bigint, owner text)
language sql stable
as $$
    select f.id, f.severed, f.parent, f.buckets,
           (select count(*) from holdfast.fork_buckets(f.no) b join holdfast.fork_keys k on k.bucket_id = b.id),
           f.created_at, f.revision, (select t.name from holdfast.tokens t where t.id = f.owner)
    from (select * from holdfast.forks x
          where not x.closed and ($1 is null or x.id > $1)
            and ($3 is null or x.owner = $3 or holdfast.is_among(null, x.id, $4))
          order by x.id limit $2) f
    order by f.id
$$;
comment on function holdfast.list_forks(text, integer, text, text) is
    'At most page open forks whose ids follow after, in byte order: the owner''s (null: everybody''s), and those among '
    'administered, patterns as is_among() has them. own_rows: how many keys it wrote; owner: the token''s name.';

create or replace function holdfast.get_fork(claim text)
returns table (id text, severed boolean, parent text, buckets text[], own_rows bigint, created_at timestamptz,
               revision bigint, owner text)
language sql stable
as $$
    select f.id, f.severed, f.parent, f.buckets,
           (select count(*) from holdfast.fork_buckets(f.no) b join holdfast.fork_keys k on k.bucket_id = b.id),
           f.created_at, f.revision, (select t.name from holdfast.tokens t where t.id = f.owner)
    from holdfast.forks f where not f.closed and holdfast.fork_is(f.id, f.owner, $1)
$$;
comment on function holdfast.get_fork(text) is 'The open fork of the id as list_forks() gives it, or no row.';

create or replace function holdfast.close_fork(no integer) returns void
language sql volatile
as $$
    select holdfast.announce(array[chr(1) || 'forks'], array[1::smallint], array[convert_to(f.id, 'UTF8')], 'f')
    from holdfast.forks f where f.no = $1;
    update holdfast.forks f set closed = true where f.no = $1;
    with gone as (
        delete from holdfast.buckets b using holdfast.fork_buckets($1) o where b.id = o.id
        returning b.id
    )
    insert into holdfast.dropped_buckets (bucket_id, at) select g.id, holdfast.now() from gone g
$$;
comment on function holdfast.close_fork(integer) is
    'Ends a fork, whose lock the caller has alone, and tells those who wait through it. What it wrote belongs to nobody and '
    'is freed in the background.';

create or replace function holdfast.take_fork(claim text) returns integer
language plpgsql volatile
as $$
declare
    n integer;
    done boolean;
begin
    select f.no into n from holdfast.forks f where holdfast.fork_is(f.id, f.owner, take_fork.claim) and not f.closed;
    if n is null then
        return null;
    end if;
    done := pg_catalog.pg_advisory_xact_lock(7240007, n) is null;
    return (select f.no from holdfast.forks f where f.no = n and not f.closed);
end
$$;
comment on function holdfast.take_fork(text) is
    'Takes the open fork''s lock alone, waiting for those who write through it, until the transaction ends. Gives its number, '
    'null when there is none or it was closed meanwhile.';

create or replace function holdfast.discard_fork(claim text) returns table (discarded boolean, pos bigint)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    done boolean;
    n integer;
    names text[];
begin
    n := holdfast.take_fork(discard_fork.claim);
    discarded := n is not null;
    if discarded then
        names := array(select b.name from holdfast.fork_buckets(n) b);
        done := holdfast.lock_names(names);
        done := holdfast.announce(names, null, null, 'e');
        perform holdfast.close_fork(n);
        pos := holdfast.draw_revision() + 1;
    end if;
    return next;
end
$$;
comment on function holdfast.discard_fork(text) is
    'Closes the open fork of this id, with all it wrote; discarded is false when there is none.';

create or replace function holdfast.promote_fork(
    claim text, if_unchanged boolean, stream text, session text, request_id text, token text, seals boolean, writable text
) returns table (status smallint, own_rows bigint, pos bigint, bucket text, path bytea, kind text, most bigint, own_kind text,
                 version bigint, content_type text, metadata bytea, value bytea)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    done boolean;
    n integer;
    t0 timestamptz;
    names text[];
    lives bigint;
    bases bigint[];
begin
    n := holdfast.take_fork(promote_fork.claim);
    if n is null then
        status := 1;
        return next;
        return;
    end if;
    names := array(select b.name from holdfast.fork_buckets(n) b);
    if writable is not null and exists (
        select from unnest(names) x where not holdfast.is_among('bucket', x, writable)) then
        status := 8;
        return next;
        return;
    end if;
    done := holdfast.lock_names(names);
    done := holdfast.announce(names, null, null, 'e');
    t0 := holdfast.now();

    if if_unchanged then
        return query
        select 2::smallint, null::bigint, null::bigint, b.name, k.path, null::text, null::bigint, null::text,
               null::bigint, null::text, null::bytea, null::bytea
        from holdfast.fork_buckets(n) b
        join holdfast.fork_keys k on k.bucket_id = b.id
        left join holdfast.buckets m on m.name = b.name
        left join holdfast.entries e on e.bucket_id = m.id and e.path = k.path
            and (e.expires_at is null or e.expires_at > t0)
            and not holdfast.is_cleared(e.bucket_id, e.path, e.version)
        where e.version is distinct from k.base_version
        order by b.name, k.path
        limit 1000;
        if found then
            return;
        end if;
    end if;

    -- What applies: a key whose row in the fork is live is written, one without is removed.
    select count(*) into lives
    from holdfast.fork_buckets(n) b join holdfast.entries e on e.bucket_id = b.id
    where e.expires_at is null or e.expires_at > t0;
    return query
    select case when m.kind <> 'bucket' then 3 else 4 end::smallint, null::bigint, null::bigint, b.name, null::bytea,
           case when m.kind <> 'bucket' then m.kind else m.type end, null::bigint, null::text, null::bigint, null::text,
           null::bytea, null::bytea
    from holdfast.fork_buckets(n) b
    join holdfast.buckets m on m.name = b.name
    where m.kind <> 'bucket'
       or (m.type not in ('any', 'bytes') and m.type <> b.type
           and exists (select from holdfast.entries e
                       where e.bucket_id = b.id and (e.expires_at is null or e.expires_at > t0)))
    order by b.name limit 1;
    if found then
        return;
    end if;
    return query
    select 7::smallint, null::bigint, null::bigint, b.name, e.path, null::text, m.max_value_bytes::bigint, null::text,
           null::bigint, null::text, null::bytea, null::bytea
    from holdfast.fork_buckets(n) b
    join holdfast.buckets m on m.name = b.name and m.max_value_bytes < b.max_value_bytes
    join holdfast.entries e on e.bucket_id = b.id and holdfast.opened_size(e.content_type, e.value) > m.max_value_bytes
        and (e.expires_at is null or e.expires_at > t0)
    order by b.name, e.path limit 1;
    if found then
        return;
    end if;
    -- Values are sealed for the fork: only the caller can seal them for the main data, in this transaction.
    if not seals and exists (
        select from holdfast.fork_buckets(n) b
        left join holdfast.buckets m on m.name = b.name
        join holdfast.entries e on e.bucket_id = b.id and (e.expires_at is null or e.expires_at > t0)
        where b.encrypted or m.encrypted or holdfast.is_sealed(e.content_type)) then
        status := 5;
        return next;
        return;
    end if;
    if seals and (select sum(octet_length(e.value)) from holdfast.fork_buckets(n) b
                  join holdfast.entries e on e.bucket_id = b.id) > 268435456 then
        status := 6;
        return next;
        return;
    end if;
    insert into holdfast.buckets (name, type, ttl_us, idle_us, max_value_bytes, encrypted, sealing, created_at)
    select b.name, b.type, b.ttl_us, b.idle_us, b.max_value_bytes, b.encrypted, b.sealing, t0
    from holdfast.fork_buckets(n) b
    where exists (select from holdfast.entries e
                  where e.bucket_id = b.id and (e.expires_at is null or e.expires_at > t0))
    on conflict (name) do nothing;

    own_rows := (select count(*) from holdfast.fork_buckets(n) b join holdfast.fork_keys k on k.bucket_id = b.id);
    bases := array(select holdfast.draw_revision() from generate_series(0, lives / 256) order by 1);
    update holdfast.forks f set closed = true where f.no = n; -- it needs no images any more
    if holdfast.severed_to() is not null then
        perform holdfast.save_images(array_agg(m.id), array_agg(k.path), bases[1] + 1)
        from holdfast.fork_buckets(n) b
        join holdfast.buckets m on m.name = b.name
        join holdfast.fork_keys k on k.bucket_id = b.id;
    end if;
    delete from holdfast.entries e
    using holdfast.fork_buckets(n) b, holdfast.buckets m, holdfast.fork_keys k
    where m.name = b.name and k.bucket_id = b.id and e.bucket_id = m.id and e.path = k.path
      and not exists (select from holdfast.entries o
                      where o.bucket_id = b.id and o.path = k.path and (o.expires_at is null or o.expires_at > t0));
    insert into holdfast.entries as e (bucket_id, path, version, expires_at, idle_us, slot, content_type, metadata, value)
    select m.id, o.path, bases[o.place / 256 + 1] + 1 + o.place % 256, o.expires_at, o.idle_us,
           holdfast.slot_of(o.expires_at), o.content_type, o.metadata, o.value
    from (select b.name, x.*, row_number() over (order by b.name, x.path) - 1 as place
          from holdfast.fork_buckets(n) b join holdfast.entries x on x.bucket_id = b.id
          where x.expires_at is null or x.expires_at > t0) o
    join holdfast.buckets m on m.name = o.name
    on conflict (bucket_id, path) do update
    set version = excluded.version, expires_at = excluded.expires_at, idle_us = excluded.idle_us,
        slot = coalesce(e.slot, excluded.slot), content_type = excluded.content_type, metadata = excluded.metadata,
        value = excluded.value;
    if seals then
        return query
        select 30::smallint, null::bigint, bases[o.place / 256 + 1] + 1 + o.place % 256, o.name, o.path,
               holdfast.declared_type(m.type, m.encrypted, m.sealing, m.max_value_bytes), null::bigint,
               holdfast.declared_type(o.type, o.encrypted, o.sealing, o.max_value_bytes), o.version, o.content_type,
               o.metadata, o.value
        from (select b.name, b.type, b.encrypted, b.sealing, b.max_value_bytes, x.path, x.version, x.content_type,
                     x.metadata, x.value, row_number() over (order by b.name, x.path) - 1 as place
              from holdfast.fork_buckets(n) b join holdfast.entries x on x.bucket_id = b.id
              where x.expires_at is null or x.expires_at > t0) o
        join holdfast.buckets m on m.name = o.name
        where o.encrypted or m.encrypted or holdfast.is_sealed(o.content_type)
        order by o.place;
    end if;
    pos := bases[cardinality(bases)] + 256;
    perform holdfast.link_promoted(n, pos, promote_fork.stream, promote_fork.session, promote_fork.request_id,
                                  promote_fork.token);
    perform holdfast.close_fork(n);
    status := 0;
    return next;
end
$$;
comment on function holdfast.promote_fork(text, boolean, text, text, text, text, boolean, text) is
    'Writes what the fork wrote into the main data, removes what it removed, and closes it. status 0: done (own_rows keys, '
    'pos the position), 1: there is no such open fork, 2: with if_unchanged, a row for each of up to 1000 keys whose main '
    'version is not what the fork saw, 3: the name bucket is of another kind by now (kind), 4: its type is kind by now, 7: '
    'the value of path has more than the most bytes that the bucket takes by now, 5: some values are sealed, and the caller '
    'did not say that it seals them for the main data (seals), 6: they are too much for that, 8: it wrote in a bucket that is not '
    'among writable (null: all). With seals first a row (30) for '
    'each of them: where it was written (pos is its version now), the types of that bucket and of the fork''s (kind, '
    'own_kind), and the row as the fork had it; fill_entries() is to follow in the transaction. stream, session, request_id '
    'and token: of the promote, null without a session.';
