-- Revisions: how they are lifted above everything another history may have issued, and the locks that keep their order.

create or replace function holdfast.lift_revision() returns bigint
language plpgsql volatile
as $$
declare
    was bigint;
    lifted bigint;
begin
    -- Alone: a writer holds this lock shared from before its draw until its commit.
    perform pg_catalog.pg_advisory_xact_lock(7240002, 0);
    select s.last_value into was from holdfast.revision s;
    lifted := (extract(epoch from pg_catalog.clock_timestamp()) * 1000000)::bigint * 1000;
    if lifted > was then
        perform pg_catalog.setval('holdfast.revision', lifted);
        insert into holdfast.lifts (low, high) values (was, lifted);
        delete from holdfast.lifts l where l.id <= (select max(m.id) from holdfast.lifts m) - 10000;
    end if;
    insert into holdfast.lifted as l (mark) values (pg_catalog.pg_current_xact_id()::xid)
    on conflict (single) do update set mark = excluded.mark;
    return greatest(was, lifted);
end
$$;
comment on function holdfast.lift_revision() is
    'Lifts the sequence revision to the clock''s nanoseconds. No database issues a thousand million revisions a second, '
    'so nothing above was ever issued, in no history of this database. Called at every connection of a writer.';

create or replace function holdfast.draw_revision() returns bigint
language plpgsql volatile
as $$
declare
    drawn bigint := pg_catalog.nextval('holdfast.revision');
begin
    -- After the draw, in a statement of its own: a restore that came between is seen.
    if not exists (select from holdfast.lifted l where l.mark = l.xmin) then
        raise exception 'the tables were restored and the revision not lifted since' using errcode = 'HF001';
    end if;
    return drawn - 256;
end
$$;
comment on function holdfast.draw_revision() is
    'Reserves 256 revisions and gives the one before the first. Fails with HF001 in a database restored under the '
    'service: lift_revision() must come first. The caller holds its bucket''s lock.';

create or replace function holdfast.lock_buckets(names text[], whole boolean) returns integer[]
language plpgsql volatile
as $$
declare
    ids integer[];
begin
    perform pg_catalog.pg_advisory_xact_lock_shared(7240002, 0);
    if cardinality(names) = 1 then
        ids := array[(select b.id from holdfast.buckets b where b.name = names[1])];
        if ids[1] is null and whole then
            return null;
        end if;
        perform pg_catalog.pg_advisory_xact_lock(7240001, ids[1]);
        return ids;
    end if;
    select array_agg(b.id order by n.o) into ids
    from unnest(names) with ordinality n(name, o) left join holdfast.buckets b on b.name = n.name;
    if whole and array_position(ids, null) is not null then
        return null;
    end if;
    perform pg_catalog.pg_advisory_xact_lock(7240001, x.id)
    from (select distinct i.id from unnest(ids) i(id) where i.id is not null order by 1) x;
    return ids;
end
$$;
comment on function holdfast.lock_buckets(text[], boolean) is
    'Takes the buckets'' locks until the transaction ends, in the order of their ids, and gives the ids in the order of '
    'the names (null for a name that is not declared). With whole, gives null and locks none when one is not declared. '
    'To be called as a statement of its own, so that the caller''s next statement sees what the last holder wrote. The '
    'bucket may have been dropped meanwhile: the caller looks again.';
