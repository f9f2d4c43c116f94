-- Compares what a call does for keys that one use is of with what it does for keys that it holds several operations on: each
-- call is tried as it is, and with an impossible use of each of its keys behind the others, from the same state, in a
-- transaction that is rolled back.

set plan_cache_mode = force_generic_plan;

create function pg_temp.now_us() returns bigint
language sql
as $$ select (extract(epoch from holdfast.now()) * 1000000)::bigint $$;

insert into holdfast.buckets (name, kind, created_at, window_ids, window_names, window_limits, window_us)
values ('one', 'quota', now(), '{1}', '{a}', '{10}', '{3600000000}'),
       ('two', 'quota', now(), '{1,2}', '{a,b}', '{10,20}', '{3600000000,86400000000}'),
       ('turned', 'quota', now(), '{2,1}', '{b,a}', '{20,10}', '{86400000000,3600000000}'),
       ('three', 'quota', now(), '{1,2,3}', '{a,b,c}', '{10,20,30}', '{3600000000,86400000000,604800000000}'),
       ('other', 'rate_limit', now(), null, null, null, null);

-- What may be stored of a window of this limit and length.
create function pg_temp.windows(most bigint, length_us bigint)
returns table (state text, started_us bigint, ends_us bigint, used bigint)
language sql
as $$
    select s.state, s.started_us + case when s.started_us <> 0 then t.now_us else 0 end,
           s.ends_us + case when s.started_us <> 0 then t.now_us else 0 end, s.used
    from (select pg_temp.now_us() as now_us) t,
         (values ('not open', 0, 0, 0),
                 ('about to end', 1 - length_us, 1, 3),
                 ('ended now', -length_us, 0, 3),
                 ('shortened and over', -length_us, 2 * length_us, 3),
                 ('shortened', 5 - length_us, 2 * length_us, 3),
                 ('lengthened', -5, 7, 3),
                 ('full', -5, length_us - 5, most),
                 ('one left', -7, length_us - 7, most - 1),
                 ('limit lowered', -9, length_us - 9, most + 5)
         ) s(state, started_us, ends_us, used)
$$;

-- For every pair of states, stored as it is declared now or was before: window 7 was removed since.
create temp table keys as
select row_number() over () as no,
       decode('0161', 'hex') || convert_to(format('%s, %s: %s', a.state, b.state, s.ids), 'UTF8') as path,
       s.ids, array_agg(case w.id when 1 then a.started_us when 2 then b.started_us else 1 end order by w.place) as started_us,
       array_agg(case w.id when 1 then a.ends_us when 2 then b.ends_us else 5 end order by w.place) as ends_us,
       array_agg(case w.id when 1 then a.used when 2 then b.used else 4 end order by w.place) as used
from pg_temp.windows(10, 3600000000) a, pg_temp.windows(20, 86400000000) b,
     (values ('{1,2}'::integer[]), ('{2,1}'), ('{1}'), ('{7,2}'), ('{1,7}'), ('{7,1,2}')) s(ids),
     unnest(s.ids) with ordinality w(id, place)
group by a.state, b.state, s.ids;
insert into keys (no, path)
select 0, decode('0161', 'hex') || 'without a row'::bytea;
insert into holdfast.quotas (bucket_id, slot, path, window_ids, started_us, ends_us, used)
select b.id, 1, k.path, k.ids, k.started_us, k.ends_us, k.used
from holdfast.buckets b, keys k
where b.kind = 'quota' and k.ids is not null;

-- The calls that are tried; several operations on some keys of some of them, the later ones in another round.
create temp table uses as
select names::text as call, names, 1::smallint as w, k.no, k.path, 1 as round, false as refund
from (values ('{one}'::text[]), ('{two}'), ('{turned}'), ('{three}')) c(names), keys k
union all
select 'several operations on some', '{two}', 1, k.no, k.path, r.round, (k.no + r.round) % 5 = 3
from keys k, (values (1), (2), (3)) r(round)
where r.round = 1 or k.no % 4 = r.round
union all
select 'several names', '{one,two,other,three,undeclared}', 1 + k.no % 5, k.no, k.path, r.round, false
from keys k, (values (1), (2)) r(round)
where r.round = 1 or k.no % 7 = 1;

create function pg_temp.outcome(call text, n bigint, accompanied boolean) returns text[]
language plpgsql
as $$
declare
    tried record;
    replies text[];
    kept text[];
begin
    select min(x.names) as names, array_agg(x.w order by x.round, x.no)::smallint[] as which, array_agg(x.path order by x.round, x.no) as paths,
           array_agg(case when x.round = 9 then 1000 else n end order by x.round, x.no) as ns,
           array_agg(x.refund order by x.round, x.no) as refunds, count(*) filter (where x.round < 9) as size
    into tried
    from (select distinct u.names, u.w, u.path, u.no, r.round, u.refund and r.round < 9 as refund
          from uses u, lateral (values (u.round), (case when accompanied then 9 end)) r(round)
          where u.call = outcome.call and r.round is not null) x;
    begin
        replies := array(
            select row(f.o, tried.paths[f.o], f.status, f.pos - f.o - (select last_value from holdfast.revision), f.retry_us,
                       f.now_us, f.windows, f.limits, f.lengths, f.used, f.ends, f.kind)::text
            from holdfast.use_quotas(
                tried.names, tried.which, array(select i::smallint from generate_series(1, cardinality(tried.paths)) i),
                tried.paths, tried.ns, tried.refunds) f
            where f.o <= tried.size order by f.o);
        kept := array(select s::text from holdfast.quotas s join holdfast.buckets b on b.id = s.bucket_id
                      where b.name = any (tried.names) order by s.bucket_id, s.path);
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
from (select distinct u.call from uses u) c, unnest(array[1, 7, 8, 11]) n;
