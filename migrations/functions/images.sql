-- Images: what is about to change is saved once for the severed forks that see it.

create or replace function holdfast.save_images(ids integer[], paths bytea[], change bigint) returns void
language plpgsql volatile
as $$
#variable_conflict use_column
begin
    insert into holdfast.images (bucket_id, path, low, high, expires_at, idle_us, content_type, metadata, value)
    select e.bucket_id, e.path, e.version, x.high, e.expires_at, e.idle_us, e.content_type, e.metadata, e.value
    from (select distinct p.id, p.path from unnest(ids, paths) p(id, path)) q
    join holdfast.entries e on e.bucket_id = q.id and e.path = q.path
    left join holdfast.buckets b on b.id = e.bucket_id
    left join holdfast.dropped_buckets d on d.bucket_id = e.bucket_id
    cross join lateral (
        select least($3, (select min(c.revision) from holdfast.clears c
                          where c.bucket_id = e.bucket_id and c.revision >= e.version
                            and c.low <= e.path and (c.high is null or e.path < c.high))) as high offset 0) x
    where exists (
        select from holdfast.forks f
        where f.severed and not f.closed and f.revision >= e.version and f.revision < x.high
          and (d.revision is null or f.revision < d.revision)
          and (e.expires_at is null or e.expires_at > f.created_at)
          and holdfast.fork_covers(f.buckets, coalesce(b.name, d.name))
          and not exists (select from holdfast.images i
                          where i.bucket_id = e.bucket_id and i.path = e.path
                            and i.low <= f.revision and i.high > f.revision))
    on conflict (bucket_id, path, high) do nothing;
end
$$;
comment on function holdfast.save_images(integer[], bytea[], bigint) is
    'To be called, when severed_to() is not null, by whoever is about to change, remove or free rows of entries: saves those '
    'that an open severed fork sees and that are not saved for it. ids: the bucket of each path. change: a revision above '
    'every fork''s and not above that of any later row of the paths. The caller holds lock_names(), or at least its lock '
    'against new severed forks.';

create or replace function holdfast.last_revision() returns bigint
language sql volatile
as 'select last_value from holdfast.revision';
comment on function holdfast.last_revision() is
    'The last revision that was drawn: above that of every fork, for a change that draws none.';

create or replace function holdfast.sweep_images(most integer) returns integer
language plpgsql volatile
as $$
declare
    f holdfast.forks;
    seen integer := 0;
    last holdfast.images;
begin
    if holdfast.severed_to() is null then
        delete from holdfast.images i
        where (i.bucket_id, i.path, i.high) in (
            select x.bucket_id, x.path, x.high from holdfast.images x order by x.bucket_id, x.path, x.high limit most);
        get diagnostics seen = row_count;
        if seen > 0 then
            return seen;
        end if;
        delete from holdfast.forks c where c.closed;
        get diagnostics seen = row_count;
        return seen;
    end if;
    select * into f from holdfast.forks c where c.closed order by c.no limit 1;
    if not found then
        return 0;
    end if;
    -- The images are walked through once for each severed fork that closed, a page at a time.
    if f.severed then
        select x.* into last from (
            select i.* from holdfast.images i
            where (i.bucket_id, i.path, i.high) > (f.swept_bucket, f.swept_path, f.swept_high)
            order by i.bucket_id, i.path, i.high limit most) x
        order by x.bucket_id desc, x.path desc, x.high desc limit 1;
        if found then
            delete from holdfast.images i
            where (i.bucket_id, i.path, i.high) > (f.swept_bucket, f.swept_path, f.swept_high)
              and (i.bucket_id, i.path, i.high) <= (last.bucket_id, last.path, last.high)
              and i.low <= f.revision and f.revision < i.high
              and not exists (select from holdfast.forks o
                              where o.severed and not o.closed and o.revision >= i.low and o.revision < i.high);
            update holdfast.forks c
            set swept_bucket = last.bucket_id, swept_path = last.path, swept_high = last.high
            where c.no = f.no;
            return 1;
        end if;
    end if;
    delete from holdfast.forks c where c.no = f.no;
    return 1;
end
$$;
comment on function holdfast.sweep_images(integer) is
    'Looks at at most so many images after a severed fork closed, and frees those that no open one needs; then forgets the '
    'fork. Gives 0 when nothing was left to do.';
