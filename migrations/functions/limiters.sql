-- What counters, rate limits, gates and quotas share: their names, and how their keys are forgotten.

create or replace function holdfast.limiter_configurations(names text[])
returns table (ids integer[], kinds text[], ttls bigint[], losses bigint[], rate_counts bigint[], rate_uss bigint[],
               rate_sinces bigint[], bursts bigint[], lifted boolean)
language sql stable
as $$
    select array_agg(o.id), array_agg(o.kind), array_agg(o.ttl_us), array_agg(o.lose_us), array_agg(o.rate_count),
           array_agg(o.rate_us), array_agg(o.rate_since_us), array_agg(o.burst),
           exists (select from holdfast.lifted l where l.mark = l.xmin)
    from (select b.* from unnest(names) with ordinality n(name, i) left join holdfast.buckets b on b.name = n.name
          order by n.i) o
$$;
comment on function holdfast.limiter_configurations(text[]) is
    'What the names are declared as, in their order, nulls for those that are not; and whether the revision was lifted in '
    'this database.';

create or replace function holdfast.make_names(names text[], kind text) returns void
language sql volatile
as $$
    insert into holdfast.buckets (name, kind, created_at)
    select distinct n, make_names.kind, holdfast.now() from unnest(names) n
    on conflict (name) do nothing
$$;
comment on function holdfast.make_names(text[], text) is
    'Declares names as the kind, with its defaults, where they are free. The caller holds the names'' locks.';

create or replace function holdfast.claim_name(name text, kind text)
returns table (status smallint, created_at timestamptz, actual text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    b holdfast.buckets;
begin
    -- Who decides by the configuration holds this lock: nobody does while it changes.
    perform holdfast.lock_names(array[claim_name.name]);
    select * into b from holdfast.buckets k where k.name = claim_name.name;
    if found then
        return query select case when b.kind = claim_name.kind then 1 else 2 end::smallint, b.created_at, b.kind;
        return;
    end if;
    return query
    insert into holdfast.buckets (name, kind, created_at) values (claim_name.name, claim_name.kind, holdfast.now())
    returning 0::smallint, buckets.created_at, buckets.kind;
end
$$;
comment on function holdfast.claim_name(text, text) is
    'Makes the name one of the kind, with the defaults (status 0), or finds that it is already (1), or of another kind '
    '(2), which actual names. Holds the name''s lock until the transaction ends.';

create or replace function holdfast.shortest_loss() returns bigint
language sql stable
as $$ select 3 * (extract(epoch from current_setting('wal_writer_delay')::interval) * 1000000)::bigint $$;
comment on function holdfast.shortest_loss() is
    'How many microseconds of commits that nobody waited for this server may lose when it crashes.';

create or replace function holdfast.may_lose(losses bigint[]) returns boolean
language plpgsql volatile
as $$
declare
    lost boolean := array_position(losses, null) is null and holdfast.shortest_loss() <= all (losses);
    setting text;
begin
    if lost then
        setting := pg_catalog.set_config('synchronous_commit', 'off', true);
    end if;
    return lost;
end
$$;
comment on function holdfast.may_lose(bigint[]) is
    'Lets this transaction commit without waiting for the disk when all that it changes may be lost for longer than the '
    'server may lose it. Gives whether it does.';

create or replace function holdfast.reset_keys(
    names text[], which smallint[], ordinals smallint[], paths bytea[], kind text
) returns table (o smallint, status smallint, pos bigint, actual text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    locked boolean;
    ids integer[];
    kinds text[];
    lifted boolean;
    base bigint;
begin
    locked := holdfast.lock_names(names);
    select c.ids, c.kinds, c.lifted into ids, kinds, lifted from holdfast.bucket_configurations(names) c;
    if not lifted then
        perform holdfast.refuse_restored();
    end if;
    base := nextval('holdfast.revision') - 256;
    -- The rows of a name are all in the table of its kind: for names of other kinds there is nothing to find.
    case reset_keys.kind
    when 'counter' then
        delete from holdfast.counters c using unnest(which, paths) q(w, path)
        where c.bucket_id = ids[q.w] and c.path = q.path;
    when 'rate_limit' then
        delete from holdfast.rate_limits c using unnest(which, paths) q(w, path)
        where c.bucket_id = ids[q.w] and c.path = q.path;
    when 'rate_gate' then
        delete from holdfast.rate_gates c using unnest(which, paths) q(w, path)
        where c.bucket_id = ids[q.w] and c.path = q.path;
    when 'quota' then
        delete from holdfast.quotas c using unnest(which, paths) q(w, path)
        where c.bucket_id = ids[q.w] and c.path = q.path;
    end case;
    return query
    select q.o,
           case when ids[q.w] is null then 3 when kinds[q.w] <> reset_keys.kind then 4 else 0 end::smallint,
           base + q.o, kinds[q.w]
    from unnest(which, ordinals) q(w, o);
end
$$;
comment on function holdfast.reset_keys(text[], smallint[], smallint[], bytea[], text) is
    'Makes keys of the kind''s names as if they had never been used. status 0: done, 3: the name is not declared, so there '
    'was nothing, 4: of another kind (actual). pos is the position.';

create or replace function holdfast.clear_keys(name text, kind text, low bytea, high bytea, most integer)
returns table (status smallint, pos bigint, actual text, last bytea)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    b holdfast.buckets;
    gone bytea;
begin
    perform holdfast.lock_names(array[clear_keys.name]);
    select * into b from holdfast.buckets k where k.name = clear_keys.name;
    if not found or b.kind <> clear_keys.kind then
        return query select case when b.id is null then 3 else 4 end::smallint, null::bigint, b.kind, null::bytea;
        return;
    end if;
    execute format(
        'with due as (select x.path from holdfast.%1$I x
                      where x.bucket_id = $1 and x.path >= $2 and x.path < $3 order by x.path limit $4),
              freed as (delete from holdfast.%1$I x using due d where x.bucket_id = $1 and x.path = d.path)
         select case when count(*) = $4 then (array_agg(d.path order by d.path desc))[1] end from due d', b.kind || 's')
    into gone using b.id, clear_keys.low, coalesce(clear_keys.high, '\xff'::bytea), clear_keys.most;
    return query select 0::smallint, holdfast.draw_revision() + 1, b.kind, gone;
end
$$;
comment on function holdfast.clear_keys(text, text, bytea, bytea, integer) is
    'Makes the keys whose paths are from low and below high as if they had never been used, the first most of them: last is '
    'the last one of these when there may be more behind it, else null: to be called again from there until it is. status 0: '
    'done (pos is the position), 3: the name is not declared, 4: of another kind (actual).';

create or replace function holdfast.limiter_slot(ends_us bigint, now_us bigint) returns integer
language sql immutable
as $$ select least(greatest(ends_us / 60000000, now_us / 60000000 + 5), 2147483647)::integer $$;
comment on function holdfast.limiter_slot(bigint, bigint) is
    'The minute in which the sweeper looks at a key that nothing is remembered of from ends_us on (microseconds since 1970): '
    'not at once, since most keys are used again.';
