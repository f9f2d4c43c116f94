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
    insert into holdfast.lifted as l (mark, server_started)
    values (pg_catalog.pg_current_xact_id()::xid, pg_catalog.pg_postmaster_start_time())
    on conflict (single) do update set mark = excluded.mark, server_started = excluded.server_started;
    return greatest(was, lifted);
end
$$;
comment on function holdfast.lift_revision() is
    'Lifts the sequence revision to the clock''s nanoseconds. No database issues a thousand million revisions a second, '
    'so nothing above was ever issued, in no history of this database. Called at every connection of a writer.';

create or replace function holdfast.lock_names(names text[]) returns boolean
language plpgsql volatile
as $$
declare
    done boolean;
begin
    -- Assignments instead of PERFORM: plpgsql evaluates them without starting a query.
    done := pg_catalog.pg_advisory_xact_lock_shared(7240002, 0) is null;
    if cardinality(names) = 1 then
        done := pg_catalog.pg_advisory_xact_lock(7240001, pg_catalog.hashtext(names[1])) is null;
    else
        perform pg_catalog.pg_advisory_xact_lock(7240001, x.h)
        from (select distinct pg_catalog.hashtext(n) h from unnest(names) n order by 1) x;
    end if;
    return true;
end
$$;
comment on function holdfast.lock_names(text[]) is
    'Takes the locks of the names (buckets, counters, …) until the transaction ends, in one order everywhere; a lock '
    'belongs to a name, so it can be taken before the name exists. To be called as a statement of its own, so that the '
    'caller''s next statement sees what the last holder wrote. Also keeps lift_revision() away.';

create or replace function holdfast.draw_revision() returns bigint
language plpgsql volatile
as $$
begin
    if not exists (select from holdfast.lifted l where l.mark = l.xmin) then
        perform holdfast.refuse_restored();
    end if;
    return pg_catalog.nextval('holdfast.revision') - 256;
end
$$;
comment on function holdfast.draw_revision() is
    'Reserves 256 revisions and gives the one before the first. The caller holds the locks of its names.';

create or replace function holdfast.refuse_restored() returns void
language plpgsql
as $$
begin
    raise exception 'the tables were restored and the revision not lifted since' using errcode = 'HF001';
end
$$;
comment on function holdfast.refuse_restored() is
    'Fails with HF001: this database was restored under the service, lift_revision() must come first.';
