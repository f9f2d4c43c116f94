-- Tokens, and who owns forks and writes once there are any.

create table holdfast.tokens (
    id text collate "C" primary key,
    name text collate "C" not null,
    prefix text collate "C" not null,
    grants text[] not null,
    key bytea not null,
    hash bytea not null,
    created_at timestamptz not null,
    expires_at timestamptz,
    revoked_at timestamptz
);
comment on table holdfast.tokens is
    'Who may do what. A revoked token keeps its row, so that a service that had tokens never falls back to needing none, '
    'and what it owned keeps its owner.';
comment on column holdfast.tokens.id is 'the part of the token''s text by which it is found; no secret';
comment on column holdfast.tokens.prefix is
    'what every name of the token''s requests begins with although they do not say it; empty for none';
comment on column holdfast.tokens.grants is 'in canonical text, as service/security/grant.h has it';
comment on column holdfast.tokens.hash is
    'BLAKE2b of id and secret, keyed with key. A secret is 256 random bits, so nobody finds it from the hash; the key is '
    'drawn for this token alone, so that a row copied to another id, or compared with those of another installation, says '
    'and opens nothing. A key kept outside the database would only stop who can write its tables, and reads all values anyway.';

create unique index tokens_name on holdfast.tokens (name) where revoked_at is null;

create table holdfast.token_state (
    single boolean primary key default true check (single),
    mark uuid not null
);
comment on table holdfast.token_state is
    'No row: there was never a token, and none is needed. mark is another one after every change of the tokens; it is random, '
    'so that a restored or failed over database never repeats one with other tokens.';

alter table holdfast.forks add column owner text collate "C";
comment on column holdfast.forks.owner is 'the id of the token that made it; null: it was made without one';

alter table holdfast.session_writes add column token text collate "C";
comment on column holdfast.session_writes.token is 'the name of the token that wrote; null: it was written without one';
