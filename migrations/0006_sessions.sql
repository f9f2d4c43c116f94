-- Which writes belong to which session of the applications that write.

create table holdfast.session_writes (
    id bigint generated always as identity primary key,
    bucket_id integer not null,
    path bytea not null,
    version bigint not null,
    stream text collate "C" not null,
    session text collate "C" not null,
    operation text not null,
    request_id text not null,
    at timestamptz not null
);
comment on table holdfast.session_writes is
    'The writes that came with a session, each put here in its own transaction. Within a session ids are in commit order.';
comment on column holdfast.session_writes.version is 'the position of the write, which is the version where it gave one';

create index session_writes_session on holdfast.session_writes (stream, session, id);
create index session_writes_entry on holdfast.session_writes (bucket_id, path, version);
