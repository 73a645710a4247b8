-- A session changes its token as it is used: the one before stays valid for requests under way. Its forms have a key of their own, so
-- that those of open pages stay valid.

alter table session add column previous_hash bytea,
  add column rotate_time timestamptz not null default clock_now(),
  add column form_key bytea not null
    default uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid());
create unique index session_previous on session (previous_hash) where previous_hash is not null;
