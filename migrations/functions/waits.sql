-- Telling those who wait what is about to change, at the price of one free lock when nobody does.

create or replace function holdfast.announce(names text[], which smallint[], paths bytea[], topic text) returns boolean
language plpgsql volatile
as $$
declare
    waited boolean := false;
begin
    -- Assignments and built-in functions only: plpgsql evaluates them without starting a query.
    for i in 1 .. cardinality(names) loop
        if not pg_catalog.pg_try_advisory_xact_lock(7240004, pg_catalog.hashtext(names[i])) then
            waited := holdfast.notify_waiters(names[i], i::smallint, which, paths, topic);
        end if;
    end loop;
    return waited;
end
$$;
comment on function holdfast.announce(text[], smallint[], bytea[], text) is
    'To be called by whoever may change what others wait for, after lock_names() and before the change is committed: sends '
    'a notification with the commit for those of the names that somebody waits on. Who waits holds the name''s lock of '
    'class 7240004 shared in the session that listens; who gets it exclusively knows that nobody does, and whoever begins '
    'to wait meanwhile gets the lock, and looks, only after this commit. which: for each path the place of its name; no '
    'paths stand for all. Paths that do not change in the end may be among them: a waiter looks once too often. topic: e '
    'entries, l leases, o once, f forks, * whatever belongs to the name. Gives whether somebody waits.';

create or replace function holdfast.notify_waiters(
    name text, place smallint, which smallint[], paths bytea[], topic text
) returns boolean
language plpgsql volatile
as $$
declare
    hashes text;
begin
    select string_agg(distinct left(encode(sha256(p.path), 'hex'), 8), '') into hashes
    from unnest(which, paths) p(w, path) where p.w = place;
    -- A notification of 8,000 bytes would fail, and the write with it.
    if hashes is null or length(hashes) > 7800 then
        hashes := '*';
    end if;
    perform pg_catalog.pg_notify('holdfast', left(encode(sha256(convert_to(name, 'UTF8')), 'hex'), 8) || ':' || topic || hashes);
    return true;
end
$$;
comment on function holdfast.notify_waiters(text, smallint, smallint[], bytea[], text) is
    'Notifies the channel holdfast of the name: the first 8 hexadecimal digits of its SHA-256, a colon, the topic, then '
    'those of each path that belongs to the name, or * when there is none or no room.';

create or replace function holdfast.position_state(name text, pos bigint, seen text)
returns table (status smallint, holder text)
language plpgsql volatile
as $$
begin
    if pos > (select s.last_value from holdfast.revision s) then
        return query select 2::smallint, null::text;
        return;
    end if;
    if exists (select from holdfast.lifts l where l.low < pos and l.high >= pos) then
        return query select 3::smallint, null::text;
        return;
    end if;
    -- Whoever drew it in this bucket held the name's lock and holds it until the commit.
    if pg_catalog.pg_try_advisory_xact_lock_shared(7240001, pg_catalog.hashtext(name)) then
        return query select 0::smallint, null::text;
        return;
    end if;
    select l.virtualtransaction into holder from pg_catalog.pg_locks l
    where l.locktype = 'advisory' and l.classid = 7240001 and l.objsubid = 2 and l.granted
      and l.objid = (pg_catalog.hashtext(name)::bigint & 4294967295)::oid and l.mode = 'ExclusiveLock'
      and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = current_database());
    return query select case when holder is null or holder <> seen then 0 else 1 end::smallint, holder;
end
$$;
comment on function holdfast.position_state(text, bigint, text) is
    'Whether everything in the bucket up to a position can be seen, without ever waiting for a lock. status 0: by every '
    'read that begins now, 1: holder, a transaction, is not done yet; asked again with it as seen, another holder shows '
    'that it is, 2: the position was not issued yet, 3: it never will be (the revision was lifted over it).';
