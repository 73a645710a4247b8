-- Payment requests, their payers and payees, and which state may follow which.
--
-- The write of a request is the hottest of the system, and was measured: each check constraint costs it
-- about 10 µs, each index about 3 µs. So states are enum types, which check themselves; each table has
-- one check; and there are no foreign keys, since one statement writes all rows of a request and none
-- is ever deleted.

create type payment_state as enum (
  'Pending', 'Partially_paid', 'paid', 'Cancelled', 'Expired', 'Failed', 'Refunded'
);
create type payer_state as enum (
  'Pending', 'Processing', 'paid', 'Cancelled', 'Expired', 'Failed', 'Refunded'
);
create type payout_state as enum ('waiting', 'scheduled', 'sent', 'completed', 'failed', 'voided');
create type fraud_check_status as enum ('skipped', 'passed', 'failed');
create type payment_channel as enum ('agent', 'direct_pos', 'payment_link');
create type payment_method as enum ('cash', 'card', 'wallet', 'credit', 'debit', 'qr_code');

create table payment (
  payment_id uuid not null,
  project_id uuid not null,
  merchant_id uuid not null,
  -- The merchant's own id of the request.
  transaction_id text not null,
  -- SHA-256 of the request as the client wrote it: tells a repeat from a conflict.
  request_fingerprint bytea not null,
  amount_minor bigint not null,
  currency text not null,
  description text not null,
  -- As payers are shown it, at the time of the request.
  business_name text not null,
  state payment_state not null,
  fraud_check_status fraud_check_status not null,
  fee_card_processing_minor bigint not null,
  fee_platform_processing_minor bigint not null,
  fee_agent_processing_minor bigint not null,
  fee_convenience_minor bigint not null,
  fee_payer_pays_minor bigint not null,
  fee_payee_pays_minor bigint not null,
  fee_merchant_pays_minor bigint not null,
  success_url text not null,
  error_url text not null,
  notify_url text not null,
  callback_url text not null,
  -- Callbacks that this request has called for.
  callback_sequence integer not null default 0,
  create_time timestamptz not null,
  update_time timestamptz not null,
  -- When the first payer's time runs out.
  expire_time timestamptz not null,
  -- The first deadline of a payer who is still pending; null when the request is not open.
  expiry_check_time timestamptz,
  primary key (project_id, payment_id),
  constraint payment_transaction_once unique (project_id, merchant_id, transaction_id),
  constraint payment_sound check (
    amount_minor > 0
    and fee_card_processing_minor + fee_platform_processing_minor + fee_agent_processing_minor
      + fee_convenience_minor
      = fee_payer_pays_minor + fee_payee_pays_minor + fee_merchant_pays_minor
  )
) with (fillfactor = 85);

create index payment_expiry on payment (expiry_check_time) where expiry_check_time is not null;

create table payer (
  -- Also the id of the charge at the back end.
  payer_id uuid primary key,
  project_id uuid not null,
  payment_id uuid not null,
  position smallint not null,
  -- As the client sent it.
  mobile_number text not null,
  mobile_number_e164 text not null,
  first_name text not null,
  last_name text not null,
  email text not null,
  payment_channel payment_channel not null,
  payment_method payment_method not null,
  amount_minor bigint not null,
  fee_minor bigint not null,
  tip_minor bigint not null default 0,
  tax_minor bigint not null default 0,
  convenience_fee_minor bigint not null default 0,
  state payer_state not null,
  refused_attempts smallint not null default 0,
  -- The attempt that is under way while the state is Processing.
  attempt_id text,
  -- The settlement row of his money, once it came; he has one at most.
  receipt_id uuid,
  expire_time timestamptz not null,
  -- SHA-256 of the token in his link; null when he has none. The token itself is derived again.
  link_token_hash bytea,
  create_time timestamptz not null,
  constraint payer_position_once unique (payment_id, position),
  constraint payer_link_once unique (link_token_hash),
  constraint payer_sound check (
    amount_minor > 0 and fee_minor >= 0 and (attempt_id is null or state = 'Processing')
  )
) with (fillfactor = 85);

-- Counts a payer's requests of the last minute for the fraud rules.
create index payer_velocity on payer (project_id, mobile_number_e164, create_time);

create table payee (
  -- Also the id of the payout at the back end.
  payee_id uuid primary key,
  project_id uuid not null,
  payment_id uuid not null,
  position smallint not null,
  mobile_number text not null,
  mobile_number_e164 text not null,
  amount_minor bigint not null,
  fee_minor bigint not null,
  -- What he gets: the amount less every fee that is taken from it.
  net_minor bigint not null,
  delay_days smallint not null,
  payout_state payout_state not null,
  release_time timestamptz,
  constraint payee_position_once unique (payment_id, position),
  constraint payee_sound check (amount_minor > 0 and net_minor between 0 and amount_minor)
) with (fillfactor = 85);

create index payee_release on payee (release_time) where payout_state = 'scheduled';

-- The machines of services/payments/domain/payment.ts once more, so that no statement can leave them.
create function guard_payment_transition() returns trigger language plpgsql as $$
begin
  if (old.state, new.state) in (
    ('Pending', 'Partially_paid'), ('Pending', 'paid'), ('Pending', 'Cancelled'),
    ('Pending', 'Expired'), ('Pending', 'Failed'), ('Partially_paid', 'paid'),
    ('Partially_paid', 'Expired'), ('Partially_paid', 'Failed'), ('paid', 'Refunded')
  ) then
    return new;
  end if;
  raise exception 'a payment cannot go from % to %', old.state, new.state
    using errcode = 'check_violation', constraint = 'payment_transition';
end
$$;

create trigger payment_transition before update of state on payment
  for each row when (old.state <> new.state) execute function guard_payment_transition();

create function guard_payer_transition() returns trigger language plpgsql as $$
begin
  if (old.state, new.state) in (
    ('Pending', 'Processing'), ('Pending', 'Cancelled'), ('Pending', 'Expired'),
    ('Pending', 'Failed'), ('Processing', 'paid'), ('Processing', 'Pending'),
    ('Processing', 'Failed'), ('paid', 'Refunded'), ('Cancelled', 'Refunded'),
    ('Expired', 'Refunded')
  ) then
    return new;
  end if;
  raise exception 'a payer cannot go from % to %', old.state, new.state
    using errcode = 'check_violation', constraint = 'payer_transition';
end
$$;

create trigger payer_transition before update of state on payer
  for each row when (old.state <> new.state) execute function guard_payer_transition();

create function guard_payout_transition() returns trigger language plpgsql as $$
begin
  if (old.payout_state, new.payout_state) in (
    ('waiting', 'scheduled'), ('scheduled', 'sent'), ('scheduled', 'voided'),
    ('sent', 'completed'), ('sent', 'failed')
  ) then
    return new;
  end if;
  raise exception 'a payout cannot go from % to %', old.payout_state, new.payout_state
    using errcode = 'check_violation', constraint = 'payout_transition';
end
$$;

create trigger payout_transition before update of payout_state on payee
  for each row when (old.payout_state <> new.payout_state)
  execute function guard_payout_transition();
