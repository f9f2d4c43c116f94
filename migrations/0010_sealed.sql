-- Sealed values: which buckets have them, and the work of sealing what is there, opening it, or sealing it anew.

alter table holdfast.buckets add column sealing boolean not null default false;
comment on column holdfast.buckets.encrypted is 'Whether what is written is sealed; the keys are the service''s alone.';
comment on column holdfast.buckets.sealing is
    'Of an encrypted bucket: some entries are not sealed yet, so that readers take both.';

alter table holdfast.dropped_buckets
    add column encrypted boolean,
    add column sealing boolean;

comment on column holdfast.entries.content_type is
    'null stands for application/octet-stream. Of a sealed entry: \x01, the id of its key in hexadecimal, its own content '
    'type; no content type from outside has control characters.';
comment on column holdfast.images.content_type is 'as in entries';
comment on column holdfast.once_answers.content_type is 'as in entries';
comment on column holdfast.idempotency.headers is
    'Lines of name, colon, value. Of a sealed reply: \x01 and the id of its key in hexadecimal; its headers are sealed '
    'with its body.';

alter table holdfast.once_answers add column token bigint;
comment on column holdfast.once_answers.token is 'Of the run whose answer it is; a sealed one is bound to it.';

create table holdfast.reseals (
    id bigint generated always as identity primary key,
    bucket_id integer,
    bucket text collate "C",
    target text not null,
    stage smallint not null default 0,
    at_bucket integer not null default -1,
    at_path bytea not null default '',
    at_high bigint not null default 0,
    at_scope text collate "C" not null default '',
    at_key text collate "C" not null default '',
    resealed bigint not null default 0,
    damaged bigint not null default 0,
    pass bigint not null default 0,
    started_at timestamptz not null,
    finished_at timestamptz
);
comment on table holdfast.reseals is
    'Work that replicas do in small steps, one at a time: all of a bucket (and of what forks wrote in it) is to be sealed or '
    'opened, or everything is to be sealed with another key.';
comment on column holdfast.reseals.target is 'seal, open, or the id of a key in hexadecimal: then the bucket is null.';
comment on column holdfast.reseals.stage is 'What is gone through: 0 entries, 1 images, 2 answers of once, 3 kept replies.';
comment on column holdfast.reseals.at_path is 'With at_bucket, at_high, at_scope and at_key: how far.';
comment on column holdfast.reseals.pass is 'How many were resealed since it began anew: it ends when a pass found none.';
comment on column holdfast.reseals.damaged is 'How many rows did not open in this pass; they stay as they are.';

create unique index reseals_open on holdfast.reseals (coalesce(bucket_id, -1)) where finished_at is null;

drop function if exists holdfast.declare_bucket(text, text, bigint, bigint, boolean, integer);
drop function if exists holdfast.promote_fork(text, boolean);
drop function if exists holdfast.promote_fork(text, boolean, text, text, text, text);
