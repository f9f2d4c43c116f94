-- Warrants: what the database could not say by itself about values that are to be sealed or opened.

alter table holdfast.buckets alter column sealing drop default;
alter table holdfast.buckets alter column sealing drop not null;
alter table holdfast.buckets alter column sealing type text using null;
comment on column holdfast.buckets.sealing is
    'Of an encrypted bucket of which some entries are not sealed yet, so that readers take both: the service''s warrant for '
    'that, without which they do not.';

alter table holdfast.dropped_buckets alter column sealing type text using null;

alter table holdfast.reseals add column warrant text;
comment on column holdfast.reseals.warrant is
    'The service''s own word that the bucket is to be sealed or opened, which only its keys can give.';

drop function if exists holdfast.declared_type(text, boolean, boolean, integer);
drop function if exists holdfast.change_encryption(integer, text, boolean);
drop function if exists holdfast.declare_bucket(text, text, bigint, bigint, boolean, integer, boolean);
drop function if exists holdfast.promote_fork(text, boolean, text, text, text, text, boolean);
drop function if exists holdfast.recall_reply(text, text, bytea);
