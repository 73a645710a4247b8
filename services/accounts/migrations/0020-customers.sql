-- Customers' accounts: profiles and their review, sessions, consents, and what the back end must be told.
--
-- Opening and resolving a session are hot, so `session` has no foreign keys: the one statement that writes a
-- session reads its account, and no account is ever deleted.

-- What an account is kept in when its review names no currency.
alter table institution add column default_currency text not null default 'USD'
  check (default_currency ~ '^[A-Z]{3}$');

create type account_status as enum (
  'pending_review', 'available', 'rejected', 'suspended', 'closed'
);
create type funds_access as enum ('none', 'limited', 'full');

create table account (
  account_id uuid primary key,
  institution_id uuid not null references institution,
  -- Given when the review ends well.
  account_number text,
  account_type text not null default 'personal',
  -- E.164 with plus sign. Several accounts of an institution may share one.
  mobile_number text not null,
  email text not null,
  -- Folded forms (case and accents aside) are what look-ups compare.
  email_folded text not null,
  first_name text not null,
  first_name_folded text not null,
  last_name text not null,
  last_name_folded text not null,
  country text not null,
  currency text not null,
  status account_status not null,
  level smallint not null default 0,
  funds_access funds_access not null default 'none',
  create_time timestamptz not null default clock_now(),
  update_time timestamptz not null default clock_now(),
  constraint account_number_once unique (institution_id, account_number),
  constraint account_sound check (
    level between 0 and 2
    and currency ~ '^[A-Z]{3}$'
    and mobile_number ~ '^\+[1-9][0-9]{6,14}$'
    and (account_number is not null or status in ('pending_review', 'rejected'))
  )
);
-- Look-ups see no profile that is unfinished or rejected.
create index account_by_mobile on account (institution_id, mobile_number)
  where status in ('available', 'suspended', 'closed');
create index account_by_email on account (institution_id, email_folded)
  where status in ('available', 'suspended', 'closed');

create function guard_account_transition() returns trigger language plpgsql as $$
begin
  if not (case old.status
    when 'pending_review' then new.status in ('available', 'rejected')
    when 'available' then new.status in ('suspended', 'closed')
    when 'suspended' then new.status in ('available', 'closed')
    else false
  end) then
    raise exception 'account must not go from % to %', old.status, new.status using errcode = '23514';
  end if;
  return new;
end $$;
create trigger account_transition before update of status on account
  for each row when (old.status <> new.status) execute function guard_account_transition();

-- A row per (institution, number) that is locked while an account with the number is made or becomes available.
create table mobile_number_lock (
  institution_id uuid not null,
  mobile_number text not null,
  primary key (institution_id, mobile_number)
);

create table session (
  session_id uuid primary key,
  project_id uuid not null,
  institution_id uuid not null,
  account_id uuid not null,
  -- SHA-256 of the token; the token itself is derived from session_id and a key that is not here.
  token_hash bytea not null unique,
  -- True when the first accepted transaction spends it.
  single_use boolean not null default true,
  ttl_s integer not null,
  create_time timestamptz not null default clock_now(),
  expire_time timestamptz not null,
  -- The movement that spent it.
  consumed_by uuid,
  consume_time timestamptz,
  constraint session_spent_whole check ((consumed_by is null) = (consume_time is null))
);

-- Which session a request id opened; it is opened again once that one has expired.
create table session_request (
  project_id uuid not null,
  request_id uuid not null,
  fingerprint bytea not null,
  -- Null when the account was unavailable.
  session_id uuid,
  -- The session's, or now when there is none.
  expire_time timestamptz not null,
  primary key (project_id, request_id)
);

create type review_state as enum ('open', 'completed', 'rejected');
create type challenge_state as enum ('open', 'approved', 'rejected', 'lapsed');

-- The review of one profile.
create table review (
  review_id uuid primary key,
  project_id uuid not null references project,
  institution_id uuid not null references institution,
  account_id uuid not null unique references account,
  -- Request id of the call that began it, and the number as that call wrote it: the callback shows both.
  request_id text not null,
  mobile_number_as_sent text not null,
  -- Further facts for the review, sealed JSON.
  details_sealed text not null,
  -- Both or neither. The sealed token goes when the review has ended.
  callback_url text,
  authorisation_token_sealed text,
  state review_state not null default 'open',
  -- Why it was rejected, for our own people.
  reason text,
  create_time timestamptz not null default clock_now(),
  end_time timestamptz,
  constraint review_sound check (
    (state = 'open') = (end_time is null)
    and (authorisation_token_sealed is null
      or (state = 'open' and callback_url is not null))
  )
);

-- The question to a holder whether a project may act for him.
create table challenge (
  challenge_id uuid primary key,
  project_id uuid not null references project,
  institution_id uuid not null references institution,
  account_id uuid not null references account,
  request_id text not null,
  mobile_number_as_sent text not null,
  callback_url text not null,
  -- Goes when the question is answered or has lapsed.
  authorisation_token_sealed text,
  state challenge_state not null default 'open',
  create_time timestamptz not null default clock_now(),
  expire_time timestamptz not null,
  end_time timestamptz,
  constraint challenge_sound check (
    (state = 'open') = (end_time is null)
    and (state = 'open') = (authorisation_token_sealed is not null)
  )
);
create index challenge_open on challenge (expire_time) where state = 'open';

create function guard_end_of_question() returns trigger language plpgsql as $$
begin
  raise exception '% has ended as % and must not become %', tg_table_name, old.state, new.state
    using errcode = '23514';
end $$;
create trigger review_transition before update of state on review for each row
  when (old.state <> 'open' and old.state <> new.state) execute function guard_end_of_question();
create trigger challenge_transition before update of state on challenge for each row
  when (old.state <> 'open' and old.state <> new.state) execute function guard_end_of_question();

-- What came with a profile. Without a review it belongs to an upload under way, or to one that broke.
create table artefact (
  artefact_id uuid primary key,
  project_id uuid not null references project,
  review_id uuid references review,
  field text not null check (
    field in ('id_document1_file', 'id_document2_file', 'poa_file', 'selfie')
  ),
  media_type text not null check (media_type in ('image/jpeg', 'image/png', 'application/pdf')),
  -- The artefact's own AES-256 key, sealed under the service's.
  key_sealed text not null,
  -- Known when its last chunk is stored.
  size_bytes bigint,
  chunk_count integer,
  create_time timestamptz not null default clock_now(),
  constraint artefact_once unique (review_id, field),
  constraint artefact_whole check (
    review_id is null or (size_bytes is not null and chunk_count is not null)
  )
);
create index artefact_orphan on artefact (create_time) where review_id is null;

create table artefact_chunk (
  artefact_id uuid not null references artefact on delete cascade,
  chunk_index integer not null,
  -- iv[12] ‖ AES-256-GCM ciphertext ‖ tag[16], with chunk_index as associated data.
  ciphertext bytea not null,
  primary key (artefact_id, chunk_index)
);

-- What a business account was given beside its api_key, and whose it is.
create table business_owner (
  project_id uuid not null,
  merchant_id uuid not null,
  first_name text not null,
  last_name text not null,
  email text not null,
  -- scrypt of the pin under the service's pepper.
  pin_salt bytea not null,
  pin_hash bytea not null,
  authorisation_token_sealed text not null,
  create_time timestamptz not null default clock_now(),
  primary key (project_id, merchant_id),
  foreign key (project_id, merchant_id) references merchant
);

create type backend_task_kind as enum ('submit_onboarding', 'request_consent');

-- What the back end must be told: a review or a challenge, by its id. Kept until it knows.
create table backend_task (
  subject_id uuid not null,
  kind backend_task_kind not null,
  attempts integer not null default 0,
  create_time timestamptz not null default clock_now(),
  next_time timestamptz not null default clock_now(),
  done_time timestamptz,
  primary key (subject_id, kind)
);
create index backend_task_due on backend_task (next_time) where done_time is null;
