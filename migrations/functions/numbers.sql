-- Adding to entries that hold numbers.

create or replace function holdfast.add_entries(
    names text[], which smallint[], ordinals smallint[], paths bytea[], integers bigint[], floats double precision[],
    conditions smallint[], if_versions text[], unless_versions text[], ttls bigint[], declares boolean[]
) returns table (o smallint, status smallint, version bigint, kind text, val text, expires_at timestamptz, most integer)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    locked boolean;
    told boolean;
    ids integer[];
    kinds text[];
    types text[];
    bucket_ttls bigint[];
    bucket_idles bigint[];
    mosts integer[];
    cleared bigint[];
    lifted boolean;
    severed bigint;
    base bigint;
    t0 timestamptz;
    q record;
    at_w smallint;
    at_path bytea;
    dirty boolean := false;
    live boolean;
    text_now text;       -- the value as it stands after the operations so far
    version_now bigint;
    expiry_now timestamptz;
    idle_now bigint;
    content_type_now text;
    metadata_now bytea;
    int_now bigint;      -- null when the value is no integer
    float_now double precision;
    int_new bigint;      -- what the operation would make of them
    float_new double precision;
    text_new text;
    w_ids integer[] := '{}';
    w_paths bytea[] := '{}';
    w_versions bigint[] := '{}';
    w_texts text[] := '{}';
    w_expiries timestamptz[] := '{}';
    w_idles bigint[] := '{}';
    w_content_types text[] := '{}';
    w_metadatas bytea[] := '{}';
begin
    locked := holdfast.lock_names(names);
    told := holdfast.announce(names, which, paths, 'e');
    t0 := holdfast.now();
    select * into ids, kinds, types, bucket_ttls, bucket_idles, mosts, cleared, lifted, severed
    from holdfast.bucket_configurations(names);
    if array_position(ids, null) is not null then
        perform holdfast.make_buckets(array(
            select names[d.w] from unnest(which, conditions, declares) d(w, conditions, declares)
            where d.declares and d.conditions & 5 = 0));
        select * into ids, kinds, types, bucket_ttls, bucket_idles, mosts, cleared, lifted, severed
        from holdfast.bucket_configurations(names);
    end if;
    if not lifted then
        perform holdfast.refuse_restored();
    end if;
    base := nextval('holdfast.revision') - 256;
    if severed is not null then
        perform holdfast.save_images(array(select ids[w] from unnest(which) with ordinality q(w, i) order by i), paths, base + 1);
    end if;

    -- A hot key: whole numbers for one live entry, with room to spare and on no condition, need one look-up and a
    -- running sum, where the loop below would look the entry up for each of them.
    at_w := which[1]; at_path := paths[1];
    if at_path = all (paths) and at_w = all (which) and array_position(integers, null) is null and 0 = all (conditions)
        and 4503599627370496 > all (integers) and -4503599627370496 < all (integers)
        and kinds[at_w] = 'bucket' and types[at_w] in ('any', 'json', 'int') and mosts[at_w] > 19 then
        select e.version, e.expires_at, case when octet_length(e.value) <= 19 then encode(e.value, 'escape') end
        into version_now, expires_at, text_now
        from holdfast.entries e
        where e.bucket_id = ids[at_w] and e.path = at_path and (e.expires_at is null or e.expires_at > t0);
        if text_now ~ '^(0|-?[1-9][0-9]{0,17})$'
            and (cleared[at_w] is null or version_now > cleared[at_w]
                 or not holdfast.is_cleared(ids[at_w], at_path, version_now)) then
            int_now := text_now::bigint; status := 0; most := mosts[at_w];
            for i in 1 .. cardinality(integers) loop
                int_now := int_now + integers[i];
                o := ordinals[i]; version := base + o; val := int_now;
                return next;
            end loop;
            update holdfast.entries e set version = base + o, value = convert_to(val, 'UTF8')
            where e.bucket_id = ids[at_w] and e.path = at_path;
            return;
        end if;
    end if;
    at_w := null; at_path := null;

    for q in
        select p.o, p.w, p.path, p.by_int, p.by_float, p.conditions, p.if_versions, p.unless_versions, p.ttl, p.declares,
               e.version, e.expires_at, e.idle_us, e.content_type, e.metadata, e.bucket_id,
               case when octet_length(e.value) <= 400 then e.value end as value,
               e.version is not null and (e.expires_at is null or e.expires_at > t0)
                   and (cleared[p.w] is null or e.version > cleared[p.w]
                        or not holdfast.is_cleared(e.bucket_id, e.path, e.version)) as live
        from unnest(which, ordinals, paths, integers, floats, conditions, if_versions, unless_versions, ttls, declares)
             p(w, o, path, by_int, by_float, conditions, if_versions, unless_versions, ttl, declares)
        left join holdfast.entries e on e.bucket_id = ids[p.w] and e.path = p.path
        order by p.w, p.path, p.o
    loop
        if at_w is distinct from q.w or at_path is distinct from q.path then
            if dirty then
                w_ids := w_ids || ids[at_w]; w_paths := w_paths || at_path; w_versions := w_versions || version_now;
                w_texts := w_texts || text_now; w_expiries := w_expiries || expiry_now; w_idles := w_idles || idle_now;
                w_content_types := w_content_types || content_type_now; w_metadatas := w_metadatas || metadata_now;
            end if;
            at_w := q.w; at_path := q.path; dirty := false; live := q.live;
            text_now := null; version_now := null; expiry_now := null; idle_now := null;
            content_type_now := null; metadata_now := null; int_now := null; float_now := null;
            if live then
                version_now := q.version; expiry_now := q.expires_at; idle_now := q.idle_us;
                content_type_now := q.content_type; metadata_now := q.metadata;
                select n.as_int, n.as_float, n.as_text into int_now, float_now, text_now
                from holdfast.number_of(q.value) n;
            end if;
        end if;
        o := q.o; version := version_now; kind := null; val := text_now; expires_at := expiry_now;
        most := mosts[q.w];
        if ids[q.w] is null then
            status := case when q.declares and q.conditions & 5 <> 0 then 2 else 3 end;
        elsif kinds[q.w] <> 'bucket' then
            status := 4; kind := kinds[q.w];
        elsif types[q.w] not in ('any', 'json', 'int', 'float') or (types[q.w] = 'int' and q.by_int is null) then
            status := 5; kind := types[q.w];
        elsif not holdfast.condition_holds(q.conditions, live, version_now, q.if_versions, q.unless_versions) then
            status := 2;
        elsif live and float_now is null then
            status := 5; kind := types[q.w];
        else
            status := 0;
            if not live then
                int_now := 0; float_now := 0;
            end if;
            if types[q.w] <> 'float' and int_now is not null and q.by_int is not null then
                if (q.by_int >= 0 and int_now > 9223372036854775807 - q.by_int)
                    or (q.by_int < 0 and int_now < -9223372036854775808 - q.by_int) then
                    status := 11;
                else
                    int_new := int_now + q.by_int; float_new := int_new; text_new := int_new::text;
                end if;
            elsif (q.by_float >= 0 and float_now > 1.7976931348623157e308 - q.by_float)
                or (q.by_float < 0 and float_now < -1.7976931348623157e308 - q.by_float) then
                status := 11;
            else
                float_new := float_now + q.by_float; int_new := null; text_new := float_new::text;
            end if;
            if status = 0 and octet_length(text_new) > mosts[q.w] then
                status := 6;
            end if;
            if status <> 0 then
                if not live then
                    int_now := null; float_now := null;
                end if;
            else
                if not live then
                    expiry_now := t0 + coalesce(q.ttl, bucket_ttls[q.w], bucket_idles[q.w]) * interval '1 microsecond';
                    idle_now := case when q.ttl is null then bucket_idles[q.w] end;
                    content_type_now := 'application/json';
                    live := true;
                end if;
                int_now := int_new; float_now := float_new; text_now := text_new;
                version_now := base + q.o;
                dirty := true;
                version := version_now; val := text_now; expires_at := expiry_now;
            end if;
        end if;
        return next;
    end loop;
    if dirty then
        w_ids := w_ids || ids[at_w]; w_paths := w_paths || at_path; w_versions := w_versions || version_now;
        w_texts := w_texts || text_now; w_expiries := w_expiries || expiry_now; w_idles := w_idles || idle_now;
        w_content_types := w_content_types || content_type_now; w_metadatas := w_metadatas || metadata_now;
    end if;
    insert into holdfast.entries as e (bucket_id, path, version, expires_at, idle_us, slot, content_type, metadata, value)
    select n.id, n.path, n.version, n.expires_at, n.idle_us, holdfast.slot_of(n.expires_at), n.content_type, n.metadata,
           convert_to(n.val, 'UTF8')
    from unnest(w_ids, w_paths, w_versions, w_expiries, w_idles, w_content_types, w_metadatas, w_texts)
         n(id, path, version, expires_at, idle_us, content_type, metadata, val)
    on conflict (bucket_id, path) do update
    set version = excluded.version, expires_at = excluded.expires_at, idle_us = excluded.idle_us,
        slot = coalesce(e.slot, excluded.slot), content_type = excluded.content_type, metadata = excluded.metadata,
        value = excluded.value;
end
$$;
comment on function holdfast.add_entries(text[], smallint[], smallint[], bytea[], bigint[], double precision[], smallint[],
    text[], text[], bigint[], boolean[]) is
    'Adds integers (null where the summand is none) or floats to entries; several operations on one path are decided in '
    'the order of their ordinals and written once. An absent entry counts as 0, and only then ttls (microseconds) count. '
    'status 0: done (val is the sum), 2: a condition failed (version is the live one or null), 3: the bucket is not '
    'declared, 4: of another kind (kind), 5: the bucket, the value or the summand is of another type, '
    '6: the sum is longer than most, 11: overflow.';

create or replace function holdfast.number_of(value bytea)
returns table (as_int bigint, as_float double precision, as_text text)
language plpgsql immutable
as $$
declare
    digits text;
begin
    -- Only what is ASCII and looks like a JSON number is looked at further: nothing here may raise.
    if value is null or encode(value, 'escape') !~ '^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$' then
        return query select null::bigint, null::double precision, null::text;
        return;
    end if;
    digits := encode(value, 'escape');
    if digits ~ '^-?[0-9]{1,18}$' and digits <> '-0' then
        return query select digits::bigint, digits::double precision, digits;
    elsif digits ~ '^-?[0-9]{19}$' and digits::numeric between -9223372036854775808 and 9223372036854775807 then
        return query select digits::bigint, digits::double precision, digits;
    elsif digits ~ '[eE][-+]?[0-9]{4,}$' or abs(digits::numeric) > 1.7976931348623157e308 then
        return query select null::bigint, null::double precision, null::text;
    elsif digits::numeric <> 0 and abs(digits::numeric) < 2.3e-308 then
        return query select null::bigint, 0::double precision, digits;
    else
        return query select null::bigint, digits::double precision, digits;
    end if;
end
$$;
comment on function holdfast.number_of(bytea) is
    'The number that a value is: as an integer when it is one of 64 bits, as a double when one holds it, and as written. '
    'Nulls when it is none.';
