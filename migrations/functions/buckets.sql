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
               cleared bigint[], lifted boolean)
language sql stable
as $$
    select array_agg(o.id), array_agg(o.kind), array_agg(o.type), array_agg(o.ttl_us), array_agg(o.idle_us),
           array_agg(o.max_value_bytes), array_agg(o.cleared_to),
           exists (select from holdfast.lifted l where l.mark = l.xmin)
    from (select b.* from unnest(names) with ordinality n(name, i) left join holdfast.buckets b on b.name = n.name
          order by n.i) o
$$;
comment on function holdfast.bucket_configurations(text[]) is
    'What the names are declared as, in their order, nulls for those that are not; and whether the revision was lifted '
    'in this database.';

create or replace function holdfast.declare_bucket(
    name text, type text, ttl_us bigint, idle_us bigint, encrypted boolean, max_value_bytes integer
) returns table (status smallint, created_at timestamptz, actual text, pos bigint)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    b holdfast.buckets;
begin
    -- The bucket's writers check values against its type: none may be under way while it changes.
    perform holdfast.lock_names(array[declare_bucket.name]);
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
    update holdfast.buckets k
    set type = declare_bucket.type, ttl_us = declare_bucket.ttl_us, idle_us = declare_bucket.idle_us,
        encrypted = declare_bucket.encrypted, max_value_bytes = declare_bucket.max_value_bytes
    where k.id = b.id;
    return query select 1::smallint, b.created_at, b.kind, holdfast.draw_revision() + 1;
end
$$;
comment on function holdfast.declare_bucket(text, text, bigint, bigint, boolean, integer) is
    'Declares a bucket (status 0) or changes it as a whole (1); pos is the position. 2: the name is of another kind, which actual names. '
    '3: it has entries, which may not be of the new type; actual is the old one.';

create or replace function holdfast.list_buckets(prefix text, after text, page integer)
returns table (name text, kind text, type text, ttl_us bigint, idle_us bigint, encrypted boolean,
               max_value_bytes integer, created_at timestamptz)
language sql stable
as $$
    select b.name, b.kind, b.type, b.ttl_us, b.idle_us, b.encrypted, b.max_value_bytes, b.created_at
    from holdfast.buckets b
    where starts_with(b.name, list_buckets.prefix) and b.name >= list_buckets.prefix
      and (list_buckets.after is null or b.name > list_buckets.after)
    order by b.name
    limit list_buckets.page
$$;
comment on function holdfast.list_buckets(text, text, integer) is
    'At most page declared names that begin with prefix and follow after, in byte order.';

create or replace function holdfast.get_bucket(name text)
returns table (name text, kind text, type text, ttl_us bigint, idle_us bigint, encrypted boolean,
               max_value_bytes integer, created_at timestamptz)
language sql stable
as $$
    select b.name, b.kind, b.type, b.ttl_us, b.idle_us, b.encrypted, b.max_value_bytes, b.created_at
    from holdfast.buckets b where b.name = $1
$$;
comment on function holdfast.get_bucket(text) is 'The declared name, or no row.';

create or replace function holdfast.drop_bucket(name text, kinds text[])
returns table (status smallint, version bigint, actual text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    b holdfast.buckets;
begin
    perform holdfast.lock_names(array[drop_bucket.name]);
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
    insert into holdfast.dropped_buckets (bucket_id, at) values (b.id, holdfast.now());
    return query select 0::smallint, holdfast.draw_revision() + 1, b.kind;
end
$$;
comment on function holdfast.drop_bucket(text, text[]) is
    'Drops the name with everything in it when its kind is one of kinds: 0. 1: not declared; 2: of another kind. Its '
    'rows belong to nobody from now on and are freed in the background.';
