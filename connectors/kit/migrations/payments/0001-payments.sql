-- Charges, the attempts to pay them, and the money that is sent out: what a connector of payments knows, on any rail.

create table charge (
  charge_id uuid primary key,
  -- A charge that was withdrawn before it was announced has nothing else.
  state text not null,
  currency text,
  amount_minor bigint,
  mobile_number text,
  business_name text,
  -- When the payer's time to pay runs out.
  expire_at timestamptz,
  constraint charge_state_known check (state in ('open', 'paid', 'withdrawn')),
  constraint charge_whole check (
    state = 'withdrawn' or (currency is not null and amount_minor > 0 and mobile_number is not null
      and business_name is not null and expire_at is not null)
  )
);

create table attempt (
  attempt_id uuid primary key,
  -- Null when somebody enquired before anybody tried: it is never executed.
  charge_id uuid references charge,
  outcome text not null,
  -- Why it was refused, a word of core/payment/words.ts; null where the payer may not know.
  refusal text,
  started_at timestamptz not null default clock_now(),
  constraint attempt_outcome_known check (outcome in ('processing', 'paid', 'refused', 'unknown')),
  constraint attempt_of_charge check ((charge_id is null) = (outcome = 'unknown')),
  constraint attempt_refusal_of_refused check (refusal is null or outcome = 'refused')
);

-- At most one attempt at a time, and one payment for ever.
create unique index attempt_one_open on attempt (charge_id) where outcome in ('processing', 'paid');

-- Payouts and refunds.
create table credit (
  reference uuid primary key,
  kind text not null,
  currency text not null,
  amount_minor bigint not null,
  mobile_number text not null,
  state text not null default 'pending',
  accepted_at timestamptz not null default clock_now(),
  constraint credit_kind_known check (kind in ('payout', 'refund')),
  constraint credit_state_known check (state in ('pending', 'completed', 'failed')),
  constraint credit_amount_positive check (amount_minor > 0)
);
