-- One durable addition to a row that everybody adds to, as a user would write it by hand.
update hits set n = n + 1 where name = 'bench' returning n;
