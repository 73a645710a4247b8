-- A fact and the change that it tells of commit together; the row stays until every consumer has the fact.
create table outbox (
  event_id uuid primary key default gen_random_uuid(),
  subject text not null,
  project_id uuid,
  payload bytea not null,
  occurred_at timestamptz not null default clock_now(),
  traceparent text,
  request_id text,
  -- Publications that the broker acknowledged.
  attempts integer not null default 0,
  -- When the relay may take the row (again); moved forward while a relay has it in hand.
  next_at timestamptz not null default clock_now(),
  published_at timestamptz,
  confirmed_at timestamptz,
  parked_at timestamptz,
  last_error text,
  constraint outbox_attempts_counted check (attempts >= 0),
  constraint outbox_payload_fits_broker check (octet_length(payload) <= 524288),
  constraint outbox_ends_once check (confirmed_at is null or parked_at is null)
);

-- Rows leave these three when they end, so their size is that of the work at hand, whatever the table holds.
create index outbox_fresh on outbox (next_at)
  where published_at is null and confirmed_at is null and parked_at is null;
create index outbox_published on outbox (next_at, event_id)
  where published_at is not null and confirmed_at is null and parked_at is null;
create index outbox_unended on outbox (occurred_at)
  where confirmed_at is null and parked_at is null;

create index outbox_confirmed on outbox (confirmed_at) where confirmed_at is not null;
create index outbox_parked on outbox (parked_at) where parked_at is not null;

-- Which consumer said what of an event.
create table confirmation (
  event_id uuid not null,
  consumer text not null,
  state text not null,
  answered_at timestamptz not null default clock_now(),
  primary key (event_id, consumer),
  constraint confirmation_state_known check (state in ('seen', 'poisoned'))
);
