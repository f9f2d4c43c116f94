-- Compares what a read or a write does by itself with what it does in the call for many: for every state of bucket and
-- entry, each is tried both ways from the same state, in a transaction that is rolled back.

set plan_cache_mode = force_generic_plan;

create function pg_temp.state(bucket text, entry text) returns void
language plpgsql
as $$
begin
    insert into holdfast.buckets (name, type, ttl_us, idle_us, max_value_bytes, encrypted, kind, created_at, cleared_to)
    select 'lone', coalesce(b.type, 'any'), b.ttl, b.idle, coalesce(b.most, 1000), coalesce(b.encrypted, false),
           coalesce(b.kind, 'bucket'), now(), b.cleared_to
    from (values ('any', null, null::bigint, null::bigint, null::integer, null::boolean, null, null::bigint),
                 ('text', 'text', null, null, null, null, null, null),
                 ('bytes', 'bytes', null, null, null, null, null, null),
                 ('ttl', null, 60000000, null, null, null, null, null),
                 ('idle', null, null, 60000000, null, null, null, null),
                 ('small', null, null, null, 3, null, null, null),
                 ('sealed', null, null, null, null, true, null, null),
                 ('counter', null, null, null, null, null, 'counter', null),
                 ('cleared', null, null, null, null, null, null, 1000),
                 ('cleared elsewhere', null, null, null, null, null, null, 1000)
         ) b(name, type, ttl, idle, most, encrypted, kind, cleared_to)
    where b.name = bucket;
    insert into holdfast.clears (bucket_id, revision, low, high)
    select b.id, 1000, case bucket when 'cleared' then '\x'::bytea else '\x78'::bytea end, null
    from holdfast.buckets b where b.name = 'lone' and b.cleared_to is not null;
    insert into holdfast.entries (bucket_id, path, version, expires_at, idle_us, slot, content_type, metadata, value)
    select b.id, 'k', e.version, e.expires_at, e.idle, holdfast.slot_of(e.expires_at), e.content_type, e.metadata, 'was'
    from holdfast.buckets b,
         (values ('plain', 500, null::timestamptz, null::bigint, null, null::bytea),
                 ('described', 500, null, null, 'text/plain', '\x0102'::bytea),
                 ('new', 1500, null, null, null, null),
                 ('expiring', 500, holdfast.now() + interval '1 min', null, null, null),
                 ('expired', 500, holdfast.now() - interval '1 min', null, null, null),
                 ('idle', 500, holdfast.now() + interval '1 min', 60000000, null, null)
         ) e(name, version, expires_at, idle, content_type, metadata)
    where b.name = 'lone' and e.name = entry;
end
$$;

-- What is there afterwards; a version that was drawn counts by whether it is the one that was told.
create function pg_temp.seen(told bigint) returns jsonb
language sql
as $$
    select jsonb_build_object('buckets', (select jsonb_agg(b.name) from holdfast.buckets b where b.name = 'lone'),
                              'entries', jsonb_agg(to_jsonb(e) - 'version' - 'bucket_id'
                                                   || jsonb_build_object('told', e.version = told, 'kept', e.version <= 1500)))
    from holdfast.entries e
    where e.path = 'k' and e.bucket_id in (select b.id from holdfast.buckets b where b.name = 'lone')
$$;

create function pg_temp.compare_puts(bucket text, entry text, checked text, conditions smallint, ttl bigint,
                                     until timestamptz, declares boolean, fork boolean) returns void
language plpgsql
as $$
declare
    r record;
    replies jsonb[] := '{}';
begin
    for way in 1 .. 2 loop
        begin
            perform pg_temp.state(bucket, entry);
            if fork then
                insert into holdfast.forks (severed, id, revision, created_at) values (true, 'f', 2000, now());
            end if;
            if way = 1 then
                select * into r from holdfast.put_entry('lone', 'k', 'is now', 'text/html', '\x03', checked, conditions,
                                                        '{500,1500}', '{7,500}', ttl, until, declares);
            else
                select * into r from holdfast.put_entries('{lone}', '{1}', '{1}', '{k}', array['is now'::bytea],
                    '{text/html}', array['\x03'::bytea], array[checked], array[conditions], array['{500,1500}'],
                    array['{7,500}'], array[ttl], array[until], array[declares]);
            end if;
            replies := replies || (
                to_jsonb(r) || pg_temp.seen(r.version)
                || jsonb_build_object('version', case when r.version <= 1500 then r.version end,
                                      'images', (select count(*) from holdfast.images)));
            raise exception using errcode = 'HF999';
        exception when sqlstate 'HF999' then null;
        end;
    end loop;
    if replies[1] is distinct from replies[2] then
        raise exception 'put in bucket %, entry %, checked %, conditions %, ttl %, until %: alone %, with others %',
            bucket, entry, checked, conditions, ttl, until, replies[1], replies[2];
    end if;
end
$$;

create function pg_temp.compare_gets(bucket text, entry text, unless bigint, wanted boolean, largest integer) returns void
language plpgsql
as $$
declare
    replies jsonb[] := '{}';
begin
    begin
        perform pg_temp.state(bucket, entry);
        replies := array(
            select to_jsonb(g) from holdfast.get_entry('lone', 'k', unless, wanted, largest) g
            union all
            select to_jsonb(g)
            from holdfast.get_entries('{lone}', '{1}', '{1}', '{k}', array[unless], array[wanted], largest) g);
        raise exception using errcode = 'HF999';
    exception when sqlstate 'HF999' then null;
    end;
    if cardinality(replies) <> 2 or replies[1] is distinct from replies[2] then
        raise exception 'get from bucket %, entry %, unless %, wanted %, largest %: alone %, with others %', bucket, entry,
            unless, wanted, largest, replies[1], replies[2];
    end if;
end
$$;

create temp table states as
select b.bucket, e.entry
from unnest(array['none', 'any', 'text', 'bytes', 'ttl', 'idle', 'small', 'sealed', 'counter', 'cleared',
                  'cleared elsewhere']) b(bucket),
     unnest(array['none', 'plain', 'described', 'new', 'expiring', 'expired', 'idle']) e(entry);

select count(*), count(pg_temp.compare_puts(s.bucket, s.entry, c.checked, c.conditions, c.ttl, c.until, c.declares, c.fork))
from states s, (
    select 'any', conditions::smallint, null::bigint, null::timestamptz, true, false
    from unnest(array[0, 1, 2, 4, 8, 12]) conditions
    union all
    select 'any', conditions::smallint, null, null, declares, not declares
    from unnest(array[0, 4]) conditions, unnest(array[true, false]) declares
    union all
    select checked, 0::smallint, x.ttl, x.until, true, false
    from unnest(array['any', 'text', 'json', 'sealed:1000:any']) checked,
         (values (null::bigint, null::timestamptz), (-1, null), (1000000, null), (null, timestamptz '2001-01-01'),
                 (null, timestamptz '2101-01-01')) x(ttl, until)
) c(checked, conditions, ttl, until, declares, fork);

select count(*), count(pg_temp.compare_gets(s.bucket, s.entry, u.unless, w.wanted, l.largest))
from states s, unnest(array[null, 500, 7]::bigint[]) u(unless), unnest(array[true, false]) w(wanted),
     unnest(array[2, 65536]) l(largest);
