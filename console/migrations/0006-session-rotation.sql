-- A session changes its token as it is used: the previous one stays valid for requests in flight. Its forms keep their CSRF token, so that
-- those of open pages stay valid.

alter table session add column previous_hash bytea,
  -- Null until a request has come with the new token.
  add column previous_until timestamptz,
  -- The token is the HMAC of the previous one under this key.
  add column rotation_key bytea,
  add column rotate_time timestamptz not null default clock_now(),
  -- Null until the first rotation: the HMAC of 'form' under the token.
  add column form_key bytea;
create unique index session_previous on session (previous_hash) where previous_hash is not null;
