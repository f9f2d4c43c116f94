-- Views: entries of any buckets as they are together at one moment.

create or replace function holdfast.view_entries(
    names text[], which smallint[], ordinals smallint[], items smallint[], paths bytea[], largest bigint
) returns table (o smallint, item smallint, status smallint, version bigint, expires_at timestamptz, content_type text,
                 metadata bytea, size integer, value bytea, kind text, pos bigint)
language sql stable
as $$
    select p.o, p.item, p.status, p.version, p.expires_at, p.content_type, p.metadata, p.size,
           case when p.together <= $6 then p.value end, p.kind, p.pos
    from (
        select q.o, q.item, e.version, e.expires_at, e.content_type, e.metadata, e.value, r.pos,
               case when r.ids[q.w] = 0 then 2 when r.ids[q.w] < 0 then 3 when e.version is null then 1
                    else 0 end::smallint as status,
               octet_length(e.value) as size,
               sum(octet_length(e.value)) over (partition by q.o) as together,
               case when r.ids[q.w] < 0 then (select k.kind from holdfast.buckets k where k.id = -r.ids[q.w])
                    else r.types[q.w] end as kind
        from (select holdfast.now() as now, array_agg(k.cleared_to order by n.i) as cleared,
                     array_agg(nullif(holdfast.declared_type(k.type, k.encrypted, k.sealing, k.max_value_bytes), 'any')
                           order by n.i) as types,
                     array_agg(coalesce(case when k.kind = 'bucket' then k.id else -k.id end, 0) order by n.i) as ids,
                     (select s.last_value from holdfast.revision s) as pos
              from unnest(names) with ordinality n(name, i) left join holdfast.buckets k on k.name = n.name) r
        cross join unnest(which, ordinals, items, paths) q(w, o, item, path)
        left join holdfast.entries e on e.bucket_id = r.ids[q.w] and e.path = q.path
            and (e.expires_at is null or e.expires_at > r.now)
            and (r.cleared[q.w] is null or e.version > r.cleared[q.w]
                 or not holdfast.is_cleared(e.bucket_id, e.path, e.version))) p
    order by p.o, p.item
$$;
comment on function holdfast.view_entries(text[], smallint[], smallint[], smallint[], bytea[], bigint) is
    'Reads entries in one snapshot, the items of an ordinal together. status 0: live, 1: absent, 2: the bucket is not '
    'declared, 3: of another kind (kind); else kind is the bucket''s type, null for any. The values come when those of '
    'the ordinal have at most largest bytes together. pos: a position that no revision seen here is above, since the '
    'sequence is read after the snapshot was taken.';
