-- What quotas_used_once.sql does for quotas, for rate limits.

set plan_cache_mode = force_generic_plan;

create function pg_temp.now_us() returns bigint
language sql
as $$ select (extract(epoch from holdfast.now()) * 1000000)::bigint $$;

insert into holdfast.buckets (name, kind, created_at, rate_count, rate_us, burst, rate_since_us, lose_us)
values ('small', 'rate_limit', now(), 7, 3000000, 10, pg_temp.now_us() - 100, null),
       ('large', 'rate_limit', now(), 9223372036854775807, 1, 9223372036854775806, 0, 60000000),
       ('slow', 'rate_limit', now(), 1, 315360000000000, 9223372036854775806, pg_temp.now_us() - 2000000, null),
       ('other', 'quota', now(), null, null, null, null, null);

create temp table keys as
select row_number() over () as no,
       decode('0161', 'hex') || convert_to(format('%s %s %s %s', b.name, d.debt, a.age, r.rate_us), 'UTF8') as path, b.id as bucket_id, pg_temp.now_us() - a.age as at_us, r.rate_count, r.rate_us, d.debt * r.rate_us as debt
from holdfast.buckets b,
     (values (0::numeric), (3), (9.5), (10), (11), (25), (9223372036854775806)) d(debt),
     (values (0), (1), (500), (428571), (-1), (-5000000)) a(age),
     lateral (values (b.rate_count, b.rate_us), (b.rate_count, b.rate_us + 2), (5, 2000000)) r(rate_count, rate_us)
where b.kind = 'rate_limit';
update keys set debt = div(debt, 1);
insert into holdfast.rate_limits (bucket_id, slot, path, at_us, rate_count, rate_us, debt)
select k.bucket_id, 1, k.path, k.at_us, k.rate_count, k.rate_us, k.debt from keys k;

-- Most keys of a name have no row: they are those of another name.
create temp table uses as
select names::text as call, names, 1::smallint as w, k.no, k.path, 1 as round
from (values ('{small}'::text[]), ('{large}'), ('{slow}')) c(names), keys k
union all
select 'several operations on some', '{small}', 1, k.no, k.path, r.round
from keys k, (values (1), (2), (3)) r(round)
where r.round = 1 or k.no % 4 = r.round
union all
select 'several names', '{small,large,other,slow,undeclared}', 1 + k.no % 5, k.no, k.path, r.round
from keys k, (values (1), (2)) r(round)
where r.round = 1 or k.no % 7 = 2;

create function pg_temp.outcome(call text, n bigint, accompanied boolean) returns text[]
language plpgsql
as $$
declare
    tried record;
    replies text[];
    kept text[];
begin
    select min(x.names) as names, array_agg(x.w order by x.round, x.no)::smallint[] as which,
           array_agg(x.path order by x.round, x.no) as paths,
           array_agg(case when x.round = 9 then 9223372036854775807 else n end order by x.round, x.no) as ns,
           count(*) filter (where x.round < 9) as size
    into tried
    from (select distinct u.names, u.w, u.path, u.no, r.round
          from uses u, lateral (values (u.round), (case when accompanied then 9 end)) r(round)
          where u.call = outcome.call and r.round is not null) x;
    begin
        replies := array(
            select row(f.o, tried.paths[f.o], f.status, f.pos - f.o - (select last_value from holdfast.revision), f.left_over,
                       case f.status when 17 then f.retry_us end, f.now_us, f.burst, f.rate_count, f.rate_us, f.kind, f.loses,
                       f.more_us)::text
            from holdfast.use_rate_limits(
                tried.names, tried.which, array(select i::smallint from generate_series(1, cardinality(tried.paths)) i),
                tried.paths, tried.ns) f
            where f.o <= tried.size order by f.o);
        kept := array(select r::text from holdfast.rate_limits r order by r.bucket_id, r.path);
        raise exception using errcode = 'HF999';
    exception when sqlstate 'HF999' then null;
    end;
    if cardinality(replies) <> tried.size then
        raise exception 'call %, with others %: % replies to % operations', call, accompanied, cardinality(replies),
            tried.size;
    end if;
    return replies || kept;
end
$$;

select count(*), count(pg_temp.compare(c.call, n))
from (select distinct u.call from uses u) c, unnest(array[1, 7, 11, 9223372036854775805]) n;
