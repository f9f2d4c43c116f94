-- Two durable writes in one transaction, as a user would write them by hand.
\set key random(100000000, 99999999 + :keys)
begin;
insert into entries (key, value) values (:key::bytea, :value::bytea)
on conflict (key) do update set value = excluded.value;
insert into pairs (key, value) values (:key::bytea, :value::bytea)
on conflict (key) do update set value = excluded.value;
commit;
