-- Copying and moving entries, between branches and buckets.

create or replace function holdfast.transfer_entry(
    from_name text, from_path bytea, to_name text, to_path bytea, conditions smallint, if_versions text,
    unless_versions text, checked text, checked_version bigint, declares boolean, removes boolean
) returns table (status smallint, version bigint, kind text, expires_at timestamptz, most integer)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    told boolean;
    t0 timestamptz;
    source holdfast.buckets;
    target holdfast.buckets;
    e holdfast.entries;
    d holdfast.entries; -- what is at the target
    live boolean;
    wanted text;
    base bigint;
begin
    perform holdfast.lock_names(array[from_name, to_name]);
    told := holdfast.announce(array[from_name, to_name], array[1, 2]::smallint[], array[from_path, to_path], 'e');
    t0 := holdfast.now();
    select * into source from holdfast.buckets b where b.name = from_name;
    if not found then
        return query select 3::smallint, null::bigint, null::text, null::timestamptz, null::integer;
        return;
    end if;
    select * into e from holdfast.entries x where x.bucket_id = source.id and x.path = from_path;
    live := found and (e.expires_at is null or e.expires_at > t0)
        and not holdfast.is_cleared(e.bucket_id, e.path, e.version);
    if source.kind <> 'bucket' then
        return query select 4::smallint, null::bigint, source.kind, null::timestamptz, null::integer;
        return;
    end if;
    if not live then
        return query select 8::smallint, null::bigint, null::text, null::timestamptz, null::integer;
        return;
    end if;
    select * into target from holdfast.buckets b where b.name = to_name;
    if not found and not declares then
        return query select 12::smallint, null::bigint, null::text, null::timestamptz, null::integer;
        return;
    end if;
    if target.kind <> 'bucket' then
        return query select 13::smallint, null::bigint, target.kind, null::timestamptz, null::integer;
        return;
    end if;
    if conditions <> 0 then
        select * into d from holdfast.entries x
        where x.bucket_id = target.id and x.path = to_path and (x.expires_at is null or x.expires_at > t0)
          and not holdfast.is_cleared(x.bucket_id, x.path, x.version);
        if not holdfast.condition_holds(conditions, found, d.version, if_versions, unless_versions) then
            return query select 2::smallint, d.version, null::text, null::timestamptz, null::integer;
            return;
        end if;
    end if;
    if target.id is null then
        perform holdfast.make_buckets(array[to_name]);
        select * into target from holdfast.buckets b where b.name = to_name;
    end if;
    wanted := holdfast.declared_type(target.type, target.encrypted, target.sealing, target.max_value_bytes);
    if ((target.type not in ('any', 'bytes') and target.type <> source.type)
            or target.encrypted or source.encrypted or holdfast.is_sealed(e.content_type) or left(checked, 4) = 'seal')
        and (wanted is distinct from checked or e.version is distinct from checked_version) then
        return query select 5::smallint, e.version, wanted, null::timestamptz, null::integer;
        return;
    end if;
    if holdfast.opened_size(e.content_type, e.value) > target.max_value_bytes then
        return query select 6::smallint, null::bigint, null::text, null::timestamptz, target.max_value_bytes;
        return;
    end if;
    base := holdfast.draw_revision();
    if holdfast.severed_to() is not null then
        perform holdfast.save_images(array[source.id, target.id], array[from_path, to_path], base + 1);
    end if;
    if removes and (source.id, from_path) is distinct from (target.id, to_path) then
        delete from holdfast.entries x where x.bucket_id = source.id and x.path = from_path;
    end if;
    insert into holdfast.entries as x (bucket_id, path, version, expires_at, idle_us, slot, content_type, metadata, value)
    values (target.id, to_path, base + 1, e.expires_at, e.idle_us, holdfast.slot_of(e.expires_at), e.content_type,
            e.metadata, e.value)
    on conflict (bucket_id, path) do update
    set version = excluded.version, expires_at = excluded.expires_at, idle_us = excluded.idle_us,
        slot = coalesce(x.slot, excluded.slot), content_type = excluded.content_type, metadata = excluded.metadata,
        value = excluded.value;
    return query select 0::smallint, base + 1, null::text, e.expires_at, null::integer;
end
$$;
comment on function holdfast.transfer_entry(text, bytea, text, bytea, smallint, text, text, text, bigint, boolean, boolean) is
    'Writes the live entry from_path of from_name as to_path of to_name, with its value, content type, metadata and '
    'remaining expiry, over whatever is there, and removes the source when removes. The conditions are about what is at the target. '
    'checked: the type of the target that the caller checked version checked_version for. status 0: done, 2: a condition '
    'failed, 3: the source bucket is not declared, 4: of another kind (kind), 5: to be checked for the type kind at '
    'version (also when one of the two is sealed: then the caller fills the row that is written, fill_entries()), 6: larger '
    'than most, 8: absent, 12: the target bucket is not declared, 13: the target is of another kind.';

create or replace function holdfast.copy_entry(
    from_name text, from_path bytea, to_name text, to_path bytea, conditions smallint, if_versions text,
    unless_versions text, checked text, checked_version bigint, declares boolean
) returns table (status smallint, version bigint, kind text, expires_at timestamptz, most integer)
language sql volatile
as 'select * from holdfast.transfer_entry($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, false)';
comment on function holdfast.copy_entry(text, bytea, text, bytea, smallint, text, text, text, bigint, boolean) is
    'transfer_entry() that leaves the source.';

create or replace function holdfast.move_entry(
    from_name text, from_path bytea, to_name text, to_path bytea, conditions smallint, if_versions text,
    unless_versions text, checked text, checked_version bigint, declares boolean
) returns table (status smallint, version bigint, kind text, expires_at timestamptz, most integer)
language sql volatile
as 'select * from holdfast.transfer_entry($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, true)';
comment on function holdfast.move_entry(text, bytea, text, bytea, smallint, text, text, text, bigint, boolean) is
    'transfer_entry() that removes the source.';
