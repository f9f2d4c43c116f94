-- One durable write by primary key, as a user would write it by hand.
\set key random(100000000, 99999999 + :keys)
insert into entries (key, value) values (:key::bytea, :value::bytea)
on conflict (key) do update set value = excluded.value;
