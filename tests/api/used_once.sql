-- What comparisons of the calls of uses share: pg_temp.outcome(), which says what a call comes to as it is and with
-- others, is theirs.

create function pg_temp.compare(call text, n bigint) returns boolean
language plpgsql
as $$
declare
    d record;
begin
    select a.x as one, b.x as other into d
    from unnest(pg_temp.outcome(call, n, false)) with ordinality a(x, i)
    full join unnest(pg_temp.outcome(call, n, true)) with ordinality b(x, i) using (i)
    where a.x is distinct from b.x
    order by i limit 1;
    if found then
        raise exception 'call %, uses of %: as it is %, with others %', call, n, d.one, d.other;
    end if;
    return true;
end
$$;
