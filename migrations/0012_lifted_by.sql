-- A writer behind a pooler does not see its server change: the mark of the last lift says which server it was made on.

-- Emptied by a crash, and empty on a standby that is promoted: each is another history until the revision is lifted.
alter table holdfast.lifted set unlogged;
alter table holdfast.lifted add column server_started timestamptz;
comment on column holdfast.lifted.server_started is 'When the server started that the revision was lifted on.';
