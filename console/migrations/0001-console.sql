-- People at work: their sessions, and what they called.

create table session (
  -- SHA-256 of the cookie: who reads this table cannot sign in.
  token_hash bytea primary key,
  session_id uuid not null unique,
  -- E-mail address, else the identity provider's id.
  person text not null,
  display_name text not null,
  -- Roles as services read them: operator, or merchant_viewer:<project id>.
  roles text[] not null,
  sign_in_time timestamptz not null default clock_now(),
  seen_time timestamptz not null default clock_now(),
  constraint session_sound check (octet_length(token_hash) = 32 and person <> '' and roles <> '{}')
);
create index session_oldest on session (seen_time);

-- Every call of a person, written before it is made. For ever.
create table activity (
  activity_id uuid primary key,
  occur_time timestamptz not null default clock_now(),
  session_id uuid not null,
  person text not null,
  rpc text not null,
  project_id uuid,
  -- Id of what was read or changed; empty for lists.
  target text not null,
  -- The id under which services log the call.
  request_id uuid not null
);
create index activity_newest on activity (occur_time, activity_id);
create index activity_of_person on activity (person, occur_time, activity_id);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = '23514';
end $$;
create trigger activity_append_only before update or delete or truncate on activity
  for each statement execute function refuse_change();
revoke update, delete, truncate on activity from payweave_console;
