-- Sealing what is there, opening it, or sealing it with another key: small steps, which any replica does, one at a time.
-- Rows keep their versions, since nobody sees that anything changed.

create or replace function holdfast.names_in_forks(name text) returns text[]
language sql stable
as $$
    select array(select b.name from holdfast.forks f
                 join holdfast.buckets b on b.name = holdfast.fork_bucket_name(f.no, $1)
                 where not f.closed order by b.name)
$$;
comment on function holdfast.names_in_forks(text) is 'The forks'' own buckets that stand for the bucket of this name.';

create or replace function holdfast.change_encryption(bucket_id integer, name text, encrypted boolean, warrant text)
returns void
language sql volatile
as $$
    update holdfast.buckets b set encrypted = $3, sealing = case when $3 then $4 end
    where b.id = $1 or b.name = any (holdfast.names_in_forks($2));
    insert into holdfast.reseals as r (bucket_id, bucket, target, warrant, started_at)
    values ($1, $2, case when $3 then 'seal' else 'open' end, $4, holdfast.now())
    on conflict (coalesce(bucket_id, -1)) where finished_at is null do update
    set target = excluded.target, warrant = excluded.warrant, stage = 0, at_bucket = -1, at_path = '', at_high = 0,
        resealed = 0, damaged = 0, pass = 0, started_at = excluded.started_at
$$;
comment on function holdfast.change_encryption(integer, text, boolean, text) is
    'Makes a bucket, and what stands for it in forks, encrypted or not any more, and begins the work on what is there, for '
    'which warrant is the service''s word. The caller holds the names'' locks.';

create or replace function holdfast.begin_rotation(key text) returns bigint
language sql volatile
as $$
    insert into holdfast.reseals as r (target, started_at) values ($1, holdfast.now())
    on conflict (coalesce(bucket_id, -1)) where finished_at is null do update
    set target = excluded.target, stage = 0, at_bucket = -1, at_path = '', at_high = 0, at_scope = '', at_key = '',
        resealed = case when r.target = excluded.target then r.resealed else 0 end,
        damaged = case when r.target = excluded.target then r.damaged else 0 end, pass = 0
    returning id
$$;
comment on function holdfast.begin_rotation(text) is
    'Has everything that is sealed sealed with the key of this id (in hexadecimal); a rotation under way begins anew. Gives '
    'its id in holdfast.reseals.';

create or replace function holdfast.wants_reseal(content_type text, target text) returns boolean
language sql immutable
as $$
    select case target
               when 'seal' then content_type is null or left(content_type, 1) <> chr(1)
               when 'open' then content_type is not null and left(content_type, 1) = chr(1)
               else content_type is not null and left(content_type, 1) = chr(1) and substr(content_type, 2, 16) <> target
           end
$$;
comment on function holdfast.wants_reseal(text, text) is
    'Whether a row of this content type is not yet what the target (as in holdfast.reseals) wants it to be.';

create or replace function holdfast.reseal_buckets(bucket_id integer, bucket text)
returns table (id integer, name text, fork text, own_name text)
language sql stable
as $$
    select b.id, case when f.no is null then b.name
                      else substr(b.name, length(holdfast.fork_bucket_name(f.no, '')) + 1) end, f.id, b.name
    from holdfast.buckets b
    left join holdfast.forks f on not f.closed and starts_with(b.name, holdfast.fork_bucket_name(f.no, ''))
    where case when $1 is null then b.encrypted
               else b.id = $1 or b.name = any (holdfast.names_in_forks($2)) end
      and (b.name >= ' ' or f.no is not null)
    union all
    select d.bucket_id, d.name, null, d.name
    from holdfast.dropped_buckets d where $1 is null and d.encrypted and d.name is not null
$$;
comment on function holdfast.reseal_buckets(integer, text) is
    'The buckets that a reseal goes through (null: all), dropped ones and those of forks with them: the name and the fork '
    'that what lies there was sealed for, and the name that its writers lock.';

create or replace function holdfast.next_reseal(own_key text, page integer, most integer)
returns table (work bigint, target text, stage smallint, bucket_id integer, name text, fork text, path bytea,
               version bigint, high bigint, content_type text, metadata bytea, value bytea, scope text, key text,
               status smallint, fingerprint bytea, warrant text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    r holdfast.reseals;
    b record;
    done boolean;
begin
    -- One replica at a time: who does not get this lock leaves it to the one that has it.
    if not pg_catalog.pg_try_advisory_xact_lock(7240010, 0) then
        return;
    end if;
    select * into r from holdfast.reseals x
    where x.finished_at is null and (x.bucket_id is not null or x.target = own_key)
    order by x.id limit 1;
    if not found then
        return;
    end if;
    work := r.id; target := r.target; stage := r.stage;
    if r.stage <= 1 then
        select * into b from holdfast.reseal_buckets(r.bucket_id, r.bucket) k where k.id >= r.at_bucket order by k.id limit 1;
        if found then
            if b.id > r.at_bucket then
                r.at_path := ''; r.at_high := 0;
            end if;
            done := holdfast.lock_names(array[b.own_name]);
            return query
            select r.id, r.target, r.stage, b.id, b.name::text, b.fork::text, p.path, p.version, p.high, p.content_type,
                   p.metadata, p.value, null::text, null::text, null::smallint, null::bytea, r.warrant
            from (select n.*, sum(octet_length(n.value)) over (order by n.path, n.high) as together
                  from (select e.path, e.version, 0::bigint as high, e.content_type, e.metadata, e.value
                        from holdfast.entries e
                        where r.stage = 0 and e.bucket_id = b.id and e.path > r.at_path
                          and holdfast.wants_reseal(e.content_type, r.target)
                        union all
                        select i.path, i.low, i.high, i.content_type, i.metadata, i.value
                        from holdfast.images i
                        where r.stage = 1 and i.bucket_id = b.id and (i.path, i.high) > (r.at_path, r.at_high)
                          and holdfast.wants_reseal(i.content_type, r.target)
                        order by path, high limit page) n) p
            where p.together <= most or p.together = octet_length(p.value)
            order by p.path, p.high;
            if not found then
                update holdfast.reseals x set at_bucket = b.id + 1, at_path = '', at_high = 0 where x.id = r.id;
                return next;
            end if;
            return;
        end if;
    elsif r.stage = 2 then
        return query
        select r.id, r.target, r.stage, a.bucket_id, b.name, null::text, a.path, a.token, 0::bigint, a.content_type,
               null::bytea, a.value, null::text, null::text, null::smallint, null::bytea, null::text
        from holdfast.once_answers a join holdfast.buckets b on b.id = a.bucket_id
        where (a.bucket_id, a.path) > (r.at_bucket, r.at_path) and holdfast.wants_reseal(a.content_type, r.target)
        order by a.bucket_id, a.path limit greatest(page / 8, 1) for update of a;
        if found then
            return;
        end if;
    else
        return query
        select r.id, r.target, r.stage, null::integer, null::text, null::text, null::bytea, 0::bigint, 0::bigint,
               chr(1) || encode(substr(k.headers, 2, 16), 'escape'), null::bytea, k.body, k.scope, k.key, k.status,
               k.fingerprint, null::text
        from holdfast.idempotency k
        where (k.scope, k.key) > (r.at_scope, r.at_key) and substr(k.headers, 1, 1) = '\x01'
          and holdfast.wants_reseal(chr(1) || encode(substr(k.headers, 2, 16), 'escape'), r.target)
        order by k.scope, k.key limit greatest(page / 8, 1) for update;
        if found then
            return;
        end if;
    end if;
    -- Nothing is left of this stage; work on one bucket has two of them. What was passed over is looked for anew, until a
    -- pass finds nothing.
    update holdfast.reseals x
    set stage = case when l.last then 0 else x.stage + 1 end, at_bucket = -1, at_path = '', at_high = 0, at_scope = '',
        at_key = '', pass = case when l.last then 0 else x.pass end,
        damaged = case when l.last and x.pass > 0 then 0 else x.damaged end,
        finished_at = case when l.last and x.pass = 0 then holdfast.now() end
    from (select r.stage >= case when r.bucket_id is null then 3 else 1 end as last) l
    where x.id = r.id
    returning x.finished_at is not null into done;
    if done and r.target = 'seal' then
        done := holdfast.lock_names(r.bucket || holdfast.names_in_forks(r.bucket));
        update holdfast.buckets k set sealing = null
        where k.encrypted and (k.id = r.bucket_id or k.name = any (holdfast.names_in_forks(r.bucket)));
    end if;
    return next;
end
$$;
comment on function holdfast.next_reseal(text, integer, integer) is
    'The next rows, at most page, that are to be sealed or opened; their locks are held until the transaction ends, in which '
    'reseal_rows() puts what they become and end_reseal_step() says how far it is. own_key: the id of the key that the caller '
    'seals with now; a rotation to any other is left to others. most: bytes of values, but for a single one. No row when '
    'there is no work, or another replica has it; one row without a value when there is more to look at.';

create or replace function holdfast.reseal_rows(
    names text[], which smallint[], ordinals smallint[], stages smallint[], bucket_ids integer[], paths bytea[],
    versions bigint[], highs bigint[], scopes text[], keys text[], content_types text[], metadatas bytea[], vals bytea[]
) returns table (o smallint, resealed boolean)
language plpgsql volatile
as $$
#variable_conflict use_column
begin
    update holdfast.entries e
    set content_type = q.content_type, metadata = q.metadata, value = q.val
    from unnest(stages, bucket_ids, paths, versions, content_types, metadatas, vals)
         q(stage, bucket_id, path, version, content_type, metadata, val)
    where q.stage = 0 and e.bucket_id = q.bucket_id and e.path = q.path and e.version = q.version;
    update holdfast.images i
    set content_type = q.content_type, metadata = q.metadata, value = q.val
    from unnest(stages, bucket_ids, paths, highs, content_types, metadatas, vals)
         q(stage, bucket_id, path, high, content_type, metadata, val)
    where q.stage = 1 and i.bucket_id = q.bucket_id and i.path = q.path and i.high = q.high;
    update holdfast.once_answers a
    set content_type = q.content_type, value = q.val
    from unnest(stages, bucket_ids, paths, versions, content_types, vals) q(stage, bucket_id, path, token, content_type, val)
    where q.stage = 2 and a.bucket_id = q.bucket_id and a.path = q.path and a.token = q.token;
    update holdfast.idempotency k
    set headers = convert_to(q.content_type, 'UTF8'), body = q.val
    from unnest(stages, scopes, keys, content_types, vals) q(stage, scope, key, content_type, val)
    where q.stage = 3 and k.scope = q.scope and k.key = q.key;
    return query select x.o, true from unnest(ordinals) x(o);
end
$$;
comment on function holdfast.reseal_rows(text[], smallint[], smallint[], smallint[], integer[], bytea[], bigint[], bigint[],
    text[], text[], text[], bytea[], bytea[]) is
    'Puts what the rows of next_reseal() become, in its transaction.';

create or replace function holdfast.end_reseal_step(
    work bigint, bucket_id integer, path bytea, high bigint, scope text, key text, resealed integer, damaged integer
) returns boolean
language sql volatile
as $$
    update holdfast.reseals r
    set at_bucket = coalesce($2, r.at_bucket), at_path = coalesce($3, r.at_path), at_high = coalesce($4, r.at_high),
        at_scope = coalesce($5, r.at_scope), at_key = coalesce($6, r.at_key), resealed = r.resealed + $7,
        damaged = r.damaged + $8,
        pass = r.pass + $7
    where r.id = $1;
    select true
$$;
comment on function holdfast.end_reseal_step(bigint, integer, bytea, bigint, text, text, integer, integer) is
    'Says that the reseal has come to this row, and how many were resealed and how many do not open.';
