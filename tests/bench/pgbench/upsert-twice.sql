-- A lock taken and given back by two durable upserts of one row, as a user would write it by hand.
\set key random(100000000, 99999999 + :keys)
insert into locks (key, holder, expires_at) values (:key::bytea, 'worker', now() + interval '30 s')
on conflict (key) do update set holder = excluded.holder, expires_at = excluded.expires_at;
insert into locks (key, holder, expires_at) values (:key::bytea, 'worker', '-infinity')
on conflict (key) do update set holder = excluded.holder, expires_at = excluded.expires_at;
