-- The stand-in for the outside world: charges that people act on, money sent out, reports owed, receivers.

-- What somebody may be charged. A charge that was withdrawn before it was announced has no details.
create table charge (
  charge_id uuid primary key,
  state text not null,
  announced_at timestamptz,
  currency text,
  amount_minor bigint,
  mobile_number text,
  channel text,
  business_name text,
  cash_code text,
  expire_time timestamptz,
  withdraw_reason text,
  -- What the person does by himself, from when, how often and how many times more.
  act text,
  act_starts text,
  act_every_ms integer,
  acts_left smallint not null default 0,
  -- When he acts next; null when nothing is planned.
  act_at timestamptz,
  -- Reports written about the charge: they are delivered in this order.
  report_count integer not null default 0,
  constraint charge_state_known check (state in ('open', 'paid', 'withdrawn', 'paid_late')),
  constraint charge_reason_known check (withdraw_reason in ('cancelled', 'expired', 'failed')),
  constraint charge_withdrawn_why check (state not in ('withdrawn', 'paid_late') or withdraw_reason is not null),
  constraint charge_channel_known check (channel in ('agent', 'direct_pos', 'payment_link')),
  constraint charge_amount_positive check (amount_minor > 0),
  constraint charge_act_known check (act in ('pay', 'refuse') and act_starts in ('announced', 'cancelled')),
  constraint charge_acts_counted check (acts_left >= 0),
  constraint charge_plan_whole check (act_at is null or (act is not null and acts_left > 0)),
  constraint charge_details_whole check (
    announced_at is null
    or (currency is not null and amount_minor is not null and mobile_number is not null
      and channel is not null and business_name is not null and expire_time is not null)
  )
) with (fillfactor = 80);

create index charge_due on charge (act_at) where act_at is not null;
create index charge_cash_code on charge (cash_code) where cash_code is not null;

-- Everything that was ever tried, or asked about. An id answered as unknown is never executed.
create table attempt (
  attempt_id uuid primary key,
  charge_id uuid,
  source text not null,
  outcome text not null,
  refusal text,
  made_at timestamptz not null default clock_now(),
  constraint attempt_source_known check (source in ('plan', 'wallet', 'card', 'agent', 'enquiry')),
  constraint attempt_outcome_known check (outcome in ('paid', 'refused', 'unknown')),
  constraint attempt_refusal_known check (
    refusal in ('declined', 'insufficient_funds', 'already_paid', 'withdrawn', 'expired')
  ),
  constraint attempt_refused_why check ((refusal is not null) = (outcome = 'refused')),
  constraint attempt_unknown_charge check ((charge_id is null) = (outcome = 'unknown'))
);

-- A charge pays once, whatever is tried.
create unique index attempt_paid_once on attempt (charge_id) where outcome = 'paid';

create table payout (
  payout_id uuid primary key,
  currency text not null,
  amount_minor bigint not null,
  mobile_number text not null,
  made_at timestamptz not null default clock_now(),
  constraint payout_amount_positive check (amount_minor > 0)
);

create table refund (
  refund_id uuid primary key,
  charge_id uuid not null,
  currency text not null,
  amount_minor bigint not null,
  made_at timestamptz not null default clock_now(),
  constraint refund_amount_positive check (amount_minor > 0)
);

-- What payments must be told. Delivered in the order of its subject, and tried until it is accepted.
create table report (
  -- Charge, payout or refund.
  subject_id uuid not null,
  position integer not null,
  kind text not null,
  attempt_id uuid,
  outcome text not null,
  payment_method text,
  made_at timestamptz not null default clock_now(),
  attempts integer not null default 0,
  -- When it may be sent (again); moved forward while a sender has it in hand.
  next_at timestamptz not null default clock_now(),
  delivered_at timestamptz,
  -- Refused for good by payments: kept to be looked at.
  parked_at timestamptz,
  last_reason text,
  primary key (subject_id, position),
  constraint report_kind_known check (kind in ('charge', 'payout', 'refund')),
  constraint report_names_attempt check ((attempt_id is not null) = (kind = 'charge')),
  constraint report_outcome_known check (
    (kind = 'charge' and outcome in ('processing', 'paid', 'refused'))
    or (kind <> 'charge' and outcome = 'completed')
  ),
  constraint report_method_known check (payment_method in ('card', 'wallet')),
  constraint report_ends_once check (delivered_at is null or parked_at is null)
) with (fillfactor = 80);

create index report_due on report (next_at) where delivered_at is null and parked_at is null;

-- Card forms that were opened, by the digest of the token in their URL.
create table card_frame (
  token_hash bytea primary key,
  charge_id uuid not null,
  return_url text not null,
  opened_at timestamptz not null default clock_now(),
  constraint card_frame_hash_is_sha256 check (octet_length(token_hash) = 32),
  constraint card_frame_return_sized check (length(return_url) between 1 and 2048)
);

create index card_frame_opened on card_frame (opened_at);

-- What the receivers were sent, as it came.
create table received (
  received_id uuid primary key,
  tag text not null,
  path text not null,
  headers jsonb not null,
  body bytea not null,
  received_at timestamptz not null default clock_now(),
  constraint received_body_bounded check (octet_length(body) <= 262144)
);

create index received_by_tag on received (tag, received_at);
create index received_age on received (received_at);

-- How often the flaky receiver of a tag has seen a body.
create table flaky_count (
  tag text not null,
  body_hash bytea not null,
  seen integer not null,
  seen_at timestamptz not null default clock_now(),
  primary key (tag, body_hash)
);

create index flaky_count_age on flaky_count (seen_at);
