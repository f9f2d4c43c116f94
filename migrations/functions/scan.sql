-- Many entries at once: pages of a branch, removing ranges, clearing branches.

create or replace function holdfast.is_utf8(bytes bytea) returns boolean
language sql immutable
as $$
    select encode(bytes, 'hex') ~ ('^([0-7][0-9a-f]|(c[2-9a-f]|d[0-9a-f])[89ab][0-9a-f]'
        '|(e0[ab]|ed[89]|e[1-9abcef][89ab])[0-9a-f][89ab][0-9a-f]'
        '|(f0[9ab]|f4[8]|f[1-3][89ab])[0-9a-f]([89ab][0-9a-f]){2})*$')
$$;
comment on function holdfast.is_utf8(bytea) is
    'Whether the bytes are UTF-8 (RFC 3629), in which a NUL is a character like any other; convert_from() refuses it.';

create or replace function holdfast.key_contains(key bytea, part bytea) returns boolean
language sql immutable
as $$
    select position(part in key) > 0 and holdfast.is_utf8(key)
$$;
comment on function holdfast.key_contains(bytea, bytea) is 'Whether the key is UTF-8 and has these bytes in it.';

create or replace function holdfast.clears_of(bucket_id integer, low bytea, beyond bytea)
returns table (all_to bigint, some_to bigint)
language sql stable
as $$
    with c as (
        select c.revision, c.low <= clears_of.low and coalesce(c.high, '\xff') >= beyond as whole
        from holdfast.clears c
        where c.bucket_id = clears_of.bucket_id and c.low < beyond and coalesce(c.high, '\xff') > clears_of.low)
    select coalesce(max(revision) filter (where whole), 0), coalesce(max(revision), 0) from c
$$;
comment on function holdfast.clears_of(integer, bytea, bytea) is
    'What clears mean for the paths from low, below beyond: every version up to all_to is absent, none above some_to is, '
    'and between the two is_cleared() knows. So a list steps over a million hidden rows by comparing numbers.';

create or replace function holdfast.page_of_entries(
    name text, low bytea, high bytea, after bytea, skip integer, contains bytea, page integer
) returns table (status smallint, path bytea, version bigint, expires_at timestamptz, content_type text, size integer,
                 value bytea, kind text, metadata bytea)
language sql stable
as $$
    -- One bound at each end, so that the index is entered at the page's first row and left at its last.
    select b.status, e.path, e.version, e.expires_at, e.content_type, e.size, e.value, b.shown, e.metadata
    from (select r.now, b.id, b.cleared_to, case when b.id is null then 2 when b.kind <> 'bucket' then 3 end::smallint as status,
                 case when b.kind <> 'bucket' then b.kind
                      else nullif(holdfast.declared_type(b.type, b.encrypted, b.sealing, b.max_value_bytes), 'any')
                 end as shown -- here, and behind OFFSET 0: once, not for each row
          from (select holdfast.now() as now) r
          left join holdfast.buckets b on b.name = $1 offset 0) b
    left join lateral (
        select c.all_to, c.some_to from holdfast.clears_of(b.id, $2, coalesce($3, '\xff')) c
        where b.cleared_to is not null offset 0) c on true
    left join lateral (
        select e.path, e.version, e.expires_at, e.content_type, e.value, octet_length(e.value) as size, e.metadata
        from holdfast.entries e
        where e.bucket_id = b.id and b.status is null
          and e.path >= case when $4 >= $2 then $4 || '\x00'::bytea else $2 end and e.path < coalesce($3, '\xff')
          and (e.expires_at is null or e.expires_at > b.now)
          and (c.all_to is null or e.version > c.all_to)
          and ($6 is null or holdfast.key_contains(substr(e.path, $5 + 1), $6))
          and (c.some_to is null or e.version > c.some_to or not holdfast.is_cleared(e.bucket_id, e.path, e.version))
        order by e.path
        limit $7) e on true
$$;
comment on function holdfast.page_of_entries(text, bytea, bytea, bytea, integer, bytea, integer) is
    'Up to page live entries of a bucket with low <= path < high (null: no end) that follow after and, with contains, '
    'have it in the key, which begins after skip bytes of the path; in byte order. kind is the bucket''s type, null for '
    'any. Without any, one row whose path is null. status 2: the bucket is not declared, 3: of another kind (kind).';

create or replace function holdfast.scan_entries(
    name text, low bytea, high bytea, after bytea, skip integer, contains bytea, page integer, largest bigint
) returns table (status smallint, path bytea, version bigint, expires_at timestamptz, content_type text, size integer,
                 value bytea, kind text, metadata bytea)
language sql stable
as $$
    select p.status, p.path, p.version, p.expires_at, p.content_type, case when p.size > $8 then p.size end,
           case when p.size <= $8 then p.value end, p.kind, p.metadata
    from holdfast.page_of_entries($1, $2, $3, $4, $5, $6, $7) p
$$;
comment on function holdfast.scan_entries(text, bytea, bytea, bytea, integer, bytea, integer, bigint) is
    'A page_of_entries() with each value of at most largest bytes (-1: none), and the size of each other.';

create or replace function holdfast.scan_large_entries(
    name text, low bytea, high bytea, after bytea, skip integer, contains bytea, page integer, bytes bigint
) returns table (status smallint, path bytea, version bigint, expires_at timestamptz, content_type text, size integer,
                 value bytea, kind text, metadata bytea)
language sql stable
as $$
    select p.status, p.path, p.version, p.expires_at, p.content_type, p.size,
           case when p.so_far = p.size or p.so_far <= $8 then p.value end, p.kind, p.metadata
    from (select q.*, sum(q.size) over (order by q.path rows unbounded preceding) as so_far
          from holdfast.page_of_entries($1, $2, $3, $4, $5, $6, $7) q) p
    order by p.path
$$;
comment on function holdfast.scan_large_entries(text, bytea, bytea, bytea, integer, bytea, integer, bigint) is
    'A page_of_entries() whose values may be large: once they pass bytes no more of them come (the first always does).';

create or replace function holdfast.clear_range(
    name text, low bytea, high bytea, skip integer, contains bytea, most integer
) returns table (status smallint, removed bigint, pos bigint, kind text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    told boolean;
    t0 timestamptz;
    b holdfast.buckets;
    base bigint;
    n bigint;
    beyond bytea := coalesce(high, '\xff'::bytea); -- above every path
begin
    perform holdfast.lock_names(array[clear_range.name]);
    told := holdfast.announce(array[clear_range.name], null, null, 'e');
    t0 := holdfast.now();
    select * into b from holdfast.buckets k where k.name = clear_range.name;
    if not found or b.kind <> 'bucket' then
        return query select case when b.id is null then 2 else 3 end::smallint, null::bigint, null::bigint, b.kind;
        return;
    end if;
    base := holdfast.draw_revision();
    if contains is null then
        select count(*) into n from (
            select from holdfast.entries e
            where e.bucket_id = b.id and e.path >= low and e.path < beyond
            limit most + 1) x;
        if n > most then
            insert into holdfast.clears (bucket_id, revision, low, high) values (b.id, base + 1, low, high);
            update holdfast.buckets k set cleared_to = base + 1 where k.id = b.id;
            return query select 0::smallint, null::bigint, base + 1, b.kind;
            return;
        end if;
    end if;
    if holdfast.severed_to() is not null then
        perform holdfast.save_images(array_agg(e.bucket_id), array_agg(e.path), base + 1)
        from holdfast.entries e
        where e.bucket_id = b.id and e.path >= low and e.path < beyond
          and (contains is null or holdfast.key_contains(substr(e.path, skip + 1), contains));
    end if;
    with gone as (
        delete from holdfast.entries e
        where e.bucket_id = b.id and e.path >= low and e.path < beyond
          and (contains is null or holdfast.key_contains(substr(e.path, skip + 1), contains))
        returning (e.expires_at is null or e.expires_at > t0)
              and not holdfast.is_cleared(e.bucket_id, e.path, e.version) as was_live)
    select count(*) filter (where was_live) into n from gone;
    return query select 0::smallint, n, base + 1, b.kind;
end
$$;
comment on function holdfast.clear_range(text, bytea, bytea, integer, bytea, integer) is
    'Removes the entries with low <= path < high (and, with contains, this in the key, which begins after skip bytes). Up to most rows are deleted '
    'and the live ones among them counted; more are hidden at once by a clear and freed later, and removed is null. '
    'status 2: the bucket is not declared, 3: of another kind; else 0.';
