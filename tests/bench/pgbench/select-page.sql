-- A page of a hundred rows by primary key, as a user would write it by hand.
\set key random(100000000, 99999999 + :keys)
select key, value from entries where key >= :key::bytea order by key limit 100;
