-- Declaring, changing, listing and dropping buckets.

create or replace function holdfast.make_buckets(names text[]) returns void
language sql volatile
as $$
    insert into holdfast.buckets (name, created_at)
    select distinct n, holdfast.now() from unnest(names) n
    on conflict (name) do nothing
$$;
comment on function holdfast.make_buckets(text[]) is
    'Declares buckets with the defaults where the name is free. The caller holds the names'' locks.';

create or replace function holdfast.bucket_configurations(names text[])
returns table (ids integer[], kinds text[], types text[], ttls bigint[], idles bigint[], mosts integer[],
               cleared bigint[], lifted boolean, severed bigint)
language sql stable
as $$
    select array_agg(o.id), array_agg(o.kind),
           array_agg(holdfast.declared_type(o.type, o.encrypted, o.sealing, o.max_value_bytes)), array_agg(o.ttl_us),
           array_agg(o.idle_us), array_agg(o.max_value_bytes), array_agg(o.cleared_to),
           exists (select from holdfast.lifted l where l.mark = l.xmin),
           (select max(f.revision) from holdfast.forks f where f.severed and not f.closed)
    from (select b.* from unnest(names) with ordinality n(name, i) left join holdfast.buckets b on b.name = n.name
          order by n.i) o
$$;
comment on function holdfast.bucket_configurations(text[]) is
    'What the names are declared as, in their order, nulls for those that are not; and whether the revision was lifted '
    'in this database; and severed_to().';

create or replace function holdfast.declare_bucket(
    name text, type text, ttl_us bigint, idle_us bigint, encrypted boolean, max_value_bytes integer, force boolean,
    seal_warrant text, open_warrant text
) returns table (status smallint, created_at timestamptz, actual text, pos bigint)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    b holdfast.buckets;
begin
    -- The bucket's writers check values against its type: none may be under way while it changes.
    perform holdfast.lock_names(declare_bucket.name || holdfast.names_in_forks(declare_bucket.name));
    select * into b from holdfast.buckets k where k.name = declare_bucket.name;
    if not found then
        insert into holdfast.buckets (name, type, ttl_us, idle_us, encrypted, max_value_bytes, created_at)
        values (declare_bucket.name, declare_bucket.type, declare_bucket.ttl_us, declare_bucket.idle_us,
                declare_bucket.encrypted, declare_bucket.max_value_bytes, holdfast.now())
        returning * into b;
        return query select 0::smallint, b.created_at, b.kind, holdfast.draw_revision() + 1;
        return;
    end if;
    if b.kind <> 'bucket' then
        return query select 2::smallint, b.created_at, b.kind, null::bigint;
        return;
    end if;
    if b.type <> declare_bucket.type and declare_bucket.type not in ('any', 'bytes') and exists (
        select from holdfast.entries e
        where e.bucket_id = b.id and (e.expires_at is null or e.expires_at > holdfast.now())
          and e.version > (select c.all_to from holdfast.clears_of(b.id, '', '\xff') c)
          and (b.cleared_to is null or e.version > b.cleared_to
               or not holdfast.is_cleared(e.bucket_id, e.path, e.version))) then
        return query select 3::smallint, b.created_at, b.type, null::bigint;
        return;
    end if;
    if b.encrypted and not declare_bucket.encrypted and not force then
        return query select 4::smallint, b.created_at, b.type, null::bigint;
        return;
    end if;
    if b.encrypted and not declare_bucket.encrypted and open_warrant is null then
        return query select 5::smallint, b.created_at, b.type, null::bigint;
        return;
    end if;
    update holdfast.buckets k
    set type = declare_bucket.type, ttl_us = declare_bucket.ttl_us, idle_us = declare_bucket.idle_us,
        encrypted = declare_bucket.encrypted, max_value_bytes = declare_bucket.max_value_bytes
    where k.id = b.id;
    if b.encrypted <> declare_bucket.encrypted then
        perform holdfast.change_encryption(b.id, declare_bucket.name, declare_bucket.encrypted,
                                           case when declare_bucket.encrypted then seal_warrant else open_warrant end);
    end if;
    return query select 1::smallint, b.created_at, b.kind, holdfast.draw_revision() + 1;
end
$$;
comment on function holdfast.declare_bucket(text, text, bigint, bigint, boolean, integer, boolean, text, text) is
    'Declares a bucket (status 0) or changes it as a whole (1); pos is the position. 2: the name is of another kind, which actual names. '
    '3: it has entries, which may not be of the new type; actual is the old one. 4: it is encrypted, and is not any more only '
    'with force. 5: it is encrypted, and the caller has no keys to open it. Where encryption changes, what is there is sealed or opened in the background, as the warrant says.';

create or replace function holdfast.list_buckets(prefix text, after text, page integer, readable text)
returns table (name text, kind text, type text, ttl_us bigint, idle_us bigint, encrypted boolean,
               max_value_bytes integer, created_at timestamptz, lose_us bigint, rate_count bigint, rate_us bigint,
               burst bigint, window_names text, window_limits bigint[], window_us bigint[], run_ttl_us bigint)
language sql stable
as $$
    select b.name, b.kind, b.type, b.ttl_us, b.idle_us, b.encrypted, b.max_value_bytes, b.created_at, b.lose_us,
           b.rate_count, b.rate_us, b.burst, array_to_string(b.window_names, ','), b.window_limits, b.window_us,
           b.run_ttl_us
    from holdfast.buckets b
    where starts_with(b.name, list_buckets.prefix) and b.name >= list_buckets.prefix
      and b.name >= ' ' -- none that belongs to a fork
      and (list_buckets.after is null or b.name > list_buckets.after)
      and (list_buckets.readable is null or holdfast.is_among(b.kind, b.name, list_buckets.readable))
    order by b.name
    limit list_buckets.page
$$;
comment on function holdfast.list_buckets(text, text, integer, text) is
    'At most page declared names that begin with prefix, follow after and are among readable (null: all), in byte order.';

create or replace function holdfast.is_among(kind text, name text, patterns text) returns boolean
language plpgsql stable
as $$
#variable_conflict use_column
begin
    return exists (
        select from json_to_recordset($3::json) p(kind text, name text, begins boolean)
        where (p.kind is null or p.kind = $1) and case when p.begins then starts_with($2, p.name) else $2 = p.name end);
end
$$;
comment on function holdfast.is_among(text, text, text) is
    'Whether one of the patterns, a JSON array of {"kind","name","begins"}, covers the name; a null kind covers all.';

create or replace function holdfast.get_bucket(name text)
returns table (name text, kind text, type text, ttl_us bigint, idle_us bigint, encrypted boolean,
               max_value_bytes integer, created_at timestamptz, lose_us bigint, rate_count bigint, rate_us bigint,
               burst bigint, window_names text, window_limits bigint[], window_us bigint[], run_ttl_us bigint)
language sql stable
as $$
    select b.name, b.kind, b.type, b.ttl_us, b.idle_us, b.encrypted, b.max_value_bytes, b.created_at, b.lose_us,
           b.rate_count, b.rate_us, b.burst, array_to_string(b.window_names, ','), b.window_limits, b.window_us,
           b.run_ttl_us
    from holdfast.buckets b where b.name = $1
$$;
comment on function holdfast.get_bucket(text) is 'The declared name, or no row.';

create or replace function holdfast.drop_bucket(name text, kinds text[])
returns table (status smallint, version bigint, actual text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    told boolean;
    b holdfast.buckets;
    base bigint;
begin
    perform holdfast.lock_names(array[drop_bucket.name]);
    told := holdfast.announce(array[drop_bucket.name], null, null, '*');
    select * into b from holdfast.buckets k where k.name = drop_bucket.name;
    if not found then
        return query select 1::smallint, null::bigint, null::text;
        return;
    end if;
    if b.kind <> all (kinds) then
        return query select 2::smallint, null::bigint, b.kind;
        return;
    end if;
    delete from holdfast.buckets k where k.id = b.id;
    base := holdfast.draw_revision();
    insert into holdfast.dropped_buckets (bucket_id, at, name, kind, type, ttl_us, idle_us, max_value_bytes, encrypted,
                                          sealing, made, revision)
    values (b.id, holdfast.now(), b.name, b.kind, b.type, b.ttl_us, b.idle_us, b.max_value_bytes, b.encrypted, b.sealing,
            b.made, base + 1);
    return query select 0::smallint, base + 1, b.kind;
end
$$;
comment on function holdfast.drop_bucket(text, text[]) is
    'Drops the name with everything in it when its kind is one of kinds: 0. 1: not declared; 2: of another kind. Its '
    'rows belong to nobody from now on but to severed forks made before, and are freed in the background.';
