-- Session links: which writes belong to a session, and where an entry's value came from.

create or replace function holdfast.link_writes(
    names text[], which smallint[], ordinals smallint[], paths bytea[], versions bigint[], operations text[],
    streams text[], sessions text[], request_ids text[], tokens text[], forks text[]
) returns table (o smallint)
language plpgsql volatile
as $$
begin
    -- Always taken after the locks of names, and held until the commit, so that no later id is seen before an earlier one.
    perform pg_catalog.pg_advisory_xact_lock(7240006, x.h)
    from (select distinct hashtext(s.stream || '/' || s.session) h from unnest(streams, sessions) s(stream, session)
          order by 1) x;
    insert into holdfast.session_writes (bucket_id, path, version, stream, session, operation, request_id, token, at)
    select b.id, l.path, l.version, l.stream, l.session, l.operation, l.request_id, l.token,
           holdfast.now()
    from unnest(which, paths, versions, operations, streams, sessions, request_ids, tokens, forks) with ordinality
         l(w, path, version, operation, stream, session, request_id, token, fork, i)
    join holdfast.buckets b on b.name = case
        when l.fork is null then names[l.w]
        else (select holdfast.fork_bucket_name(f.no, names[l.w]) from holdfast.forks f
              where holdfast.fork_is(f.id, f.owner, l.fork) and not f.closed)
    end
    order by l.i;
    return query select distinct n from unnest(ordinals) n order by 1;
end
$$;
comment on function holdfast.link_writes(text[], smallint[], smallint[], bytea[], bigint[], text[], text[], text[], text[],
    text[], text[]) is
    'Puts writes into the lists of their sessions, in the transaction that did them. What was written through a fork belongs '
    'to the fork''s own bucket, and is gone with it.';

create or replace function holdfast.link_promoted(
    no integer, pos bigint, stream text, session text, request_id text, token text
) returns void
language plpgsql volatile
as $$
declare
    t0 timestamptz := holdfast.now();
begin
    perform pg_catalog.pg_advisory_xact_lock(7240006, x.h)
    from (select hashtext(w.stream || '/' || w.session) h
          from holdfast.fork_buckets(link_promoted.no) b join holdfast.session_writes w on w.bucket_id = b.id
          union
          select hashtext(link_promoted.stream || '/' || link_promoted.session) where link_promoted.stream is not null
          order by 1) x;
    insert into holdfast.session_writes (bucket_id, path, version, stream, session, operation, request_id, token, at)
    select l.id, l.path, coalesce(e.version, link_promoted.pos), l.stream, l.session, l.operation, l.request_id,
           l.token, t0
    from (select distinct on (m.id, w.path) m.id, w.id as no, w.path, w.stream, w.session, w.operation, w.request_id,
                             w.token
          from holdfast.fork_buckets(link_promoted.no) b
          join holdfast.buckets m on m.name = b.name
          join holdfast.session_writes w on w.bucket_id = b.id
          left join holdfast.entries o on o.bucket_id = b.id and o.path = w.path
              and (o.expires_at is null or o.expires_at > t0)
          where case when o.version is null then w.operation in ('delete', 'take') else w.version = o.version end
          order by m.id, w.path, w.id desc) l
    left join holdfast.entries e on e.bucket_id = l.id and e.path = l.path
    order by l.no;
    if link_promoted.stream is null then
        return;
    end if;
    insert into holdfast.session_writes (bucket_id, path, version, stream, session, operation, request_id, token, at)
    select m.id, k.path, coalesce(e.version, link_promoted.pos), link_promoted.stream, link_promoted.session, 'promote',
           link_promoted.request_id, link_promoted.token, t0
    from holdfast.fork_buckets(link_promoted.no) b
    join holdfast.buckets m on m.name = b.name
    join holdfast.fork_keys k on k.bucket_id = b.id
    left join holdfast.entries e on e.bucket_id = m.id and e.path = k.path
    order by b.name, k.path;
end
$$;
comment on function holdfast.link_promoted(integer, bigint, text, text, text, text) is
    'For a fork that was written into the main data and is not closed yet: each key''s last link there becomes one of the '
    'main data, of the new version, or of the position (pos) where the key was removed. Then links all of its keys to the '
    'session of the promote, unless that is null; it is the later one, and so the source.';

create or replace function holdfast.list_session_writes(stream text, session text, after bigint, page integer)
returns table (id bigint, bucket text, path bytea, version bigint, operation text, at timestamptz, fork text)
language sql stable
as $$
    select s.id, case when f.no is null then b.name else substr(b.name, length(holdfast.fork_bucket_name(f.no, '')) + 1) end,
           s.path, s.version, s.operation, s.at, f.id
    from holdfast.session_writes s join holdfast.buckets b on b.id = s.bucket_id
    left join holdfast.forks f on f.no = case when b.name < ' ' then split_part(b.name, ':', 2)::integer end
    where s.stream = $1 and s.session = $2 and s.id > $3
    order by s.id
    limit $4
$$;
comment on function holdfast.list_session_writes(text, text, bigint, integer) is
    'At most page writes of a session that follow after, in the order of their commits; fork: the open one that it went '
    'through. Those in dropped buckets, and those through closed forks, are gone.';

create or replace function holdfast.write_sources(
    names text[], which smallint[], ordinals smallint[], items smallint[], paths bytea[], versions bigint[], forks text[]
) returns table (o smallint, item smallint, request_id text, stream text, session text, token text)
language sql stable
as $$
    select q.o, q.item, s.request_id, s.stream, s.session, s.token
    from unnest(which, ordinals, items, paths, versions, forks) q(w, o, item, path, version, fork)
    left join holdfast.buckets b on b.name = names[q.w]
    left join holdfast.forks f on holdfast.fork_is(f.id, f.owner, q.fork) and not f.closed
    left join holdfast.buckets own on own.name = holdfast.fork_bucket_name(f.no, names[q.w])
    left join lateral (
        select x.request_id, x.stream, x.session, x.token from holdfast.session_writes x
        where x.bucket_id in (b.id, own.id) and x.path = q.path and x.version = q.version
        order by x.id desc limit 1) s on true
    order by q.o, q.item
$$;
comment on function holdfast.write_sources(text[], smallint[], smallint[], smallint[], bytea[], bigint[], text[]) is
    'The session and request that gave an entry, as it is seen through the fork (null: in the main data), this version; '
    'nulls when it was written without a session.';
