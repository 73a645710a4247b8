-- Pushes, the receivers that they go to and every attempt, laid so that work is claimed receiver by
-- receiver: one that is slow or dead costs only its own rows.
--
-- No foreign keys: each row is written by one statement that names its parent, and checking would
-- lock the parent on the hottest writes.

-- A receiver as one project sees it: scheme, host and port.
create table endpoint (
  -- Made from project and origin, so that intake finds it without reading.
  endpoint_id uuid primary key,
  project_id uuid not null,
  origin text not null,
  hostname text not null,
  -- When a worker should look at it next; infinity while nothing waits.
  ready_at timestamptz not null,
  -- Raised by every writer: a claim that locked a newer version than it has read looks again.
  version bigint not null default 0,
  -- Attempts that may be under way at once: it grows with success and is halved by failure.
  limit_now smallint not null default 2,
  -- Successes toward the next growth of limit_now.
  growth smallint not null default 0,
  -- Place in the cycle of four fresh deliveries and one retry.
  turn smallint not null default 0,
  -- Breaker: why it opened, until when it is open, how often in a row (for doubling).
  breaker text not null default 'closed',
  breaker_until timestamptz,
  breaker_opened smallint not null default 0,
  connect_failures smallint not null default 0,
  window_started_at timestamptz not null,
  window_attempts integer not null default 0,
  window_failures integer not null default 0,
  created_at timestamptz not null,
  constraint endpoint_limit_ranged check (limit_now between 1 and 16),
  constraint endpoint_breaker_known check (breaker in ('closed', 'open', 'half_open'))
) with (fillfactor = 50);

create index endpoint_ready on endpoint (ready_at);
create index endpoint_project on endpoint (project_id, origin);

-- One push to one URL. Times have milliseconds, so that clients of the database keep them exactly.
create table delivery (
  -- Made from event, kind and party: the same event makes the same deliveries, once.
  delivery_id uuid primary key,
  project_id uuid not null,
  endpoint_id uuid not null,
  event_id uuid not null,
  kind text not null,
  -- Payment request or account that it is about.
  subject_id text not null,
  url text not null,
  -- The bytes of every attempt, rendered once.
  body bytea not null,
  state text not null,
  -- Attempts begun.
  attempts integer not null default 0,
  -- Attempts that count against the schedule: those whose worker died do not.
  failures integer not null default 0,
  next_attempt_at timestamptz,
  lease_token uuid,
  lease_until timestamptz,
  -- When the current attempt began: leads to its row.
  attempt_started_at timestamptz,
  -- When the fact was committed.
  occurred_at timestamptz not null,
  created_at timestamptz not null,
  ended_at timestamptz,
  constraint delivery_kind_known check (kind in ('notify', 'callback', 'onboarding')),
  constraint delivery_state_known check (
    state in ('pending', 'sending', 'delivered', 'exhausted', 'gone', 'blocked', 'cancelled')
  ),
  constraint delivery_pending_is_due check ((state = 'pending') = (next_attempt_at is not null)),
  constraint delivery_sending_is_leased check (
    (state = 'sending') = (lease_token is not null) and (lease_token is null) = (lease_until is null)
  ),
  constraint delivery_ended_has_time check ((state in ('pending', 'sending')) = (ended_at is null)),
  constraint delivery_url_sized check (length(url) between 1 and 2048)
) with (fillfactor = 80);

create index delivery_fresh on delivery (endpoint_id, next_attempt_at)
  where state = 'pending' and attempts = 0;
create index delivery_retry on delivery (endpoint_id, next_attempt_at)
  where state = 'pending' and attempts > 0;
create index delivery_due on delivery (next_attempt_at) where state = 'pending';
create index delivery_in_flight on delivery (endpoint_id) where state = 'sending';
create index delivery_lease on delivery (lease_until) where state = 'sending';
create index delivery_dead on delivery (state, ended_at) where state in ('exhausted', 'blocked');
create index delivery_ended on delivery (ended_at) where ended_at is not null;
create index delivery_project on delivery (project_id, created_at, delivery_id);
create index delivery_subject on delivery (project_id, subject_id, created_at, delivery_id);

-- URLs that answered 410: nothing more about that subject goes there.
create table gone_url (
  project_id uuid not null,
  subject_id text not null,
  url_sha256 bytea not null,
  gone_at timestamptz not null,
  primary key (project_id, subject_id, url_sha256)
);

-- One POST each, written before it is made.
create table attempt (
  delivery_id uuid not null,
  number integer not null,
  started_at timestamptz not null,
  endpoint_id uuid not null,
  outcome text not null default 'started',
  status smallint,
  -- Whole milliseconds; null where the attempt did not get so far or reused a connection.
  resolve_ms integer,
  connect_ms integer,
  first_byte_ms integer,
  total_ms integer,
  peer_address text,
  -- What went wrong, in a word.
  error text,
  retry_after_s integer,
  -- First 4 KiB of the answer's body.
  answer bytea,
  next_attempt_at timestamptz,
  primary key (delivery_id, number, started_at),
  constraint attempt_outcome_known check (
    outcome in (
      'started', 'delivered', 'refused', 'timed_out', 'connection_failed', 'blocked', 'unknown'
    )
  ),
  constraint attempt_answer_sized check (octet_length(answer) <= 4096)
) partition by range (started_at);

-- Takes what no day has a partition for, so that a late maintenance never stops deliveries.
create table attempt_default partition of attempt default with (fillfactor = 70);
