-- Bills, and the log of everything that was executed for a caller's id.

-- What moved money at a biller or in a transfer: one row an id, written with the outcome and never changed.
create table execution (
  kind text not null,
  subject_id uuid not null,
  currency text not null,
  amount_minor bigint not null,
  executed_at timestamptz not null default clock_now(),
  primary key (kind, subject_id),
  constraint execution_kind_known check (kind in ('bill', 'transfer')),
  constraint execution_amount_positive check (amount_minor > 0)
);

revoke update, delete, truncate on execution from payweave_simulator;

-- A bill payment as the biller sees it. One that was enquired about before it came has no details.
create table bill (
  bill_payment_id uuid primary key,
  state text not null,
  biller_code text,
  product_code text,
  currency text,
  amount_minor bigint,
  customer_reference text,
  failure_code text,
  provider_reference text,
  -- The biller says nothing until somebody enquires.
  is_silent boolean not null default false,
  received_at timestamptz not null default clock_now(),
  -- When a pending one is paid.
  settle_at timestamptz,
  -- The first enquiry.
  enquired_at timestamptz,
  constraint bill_state_known check (state in ('pending', 'paid', 'refused', 'not_found')),
  constraint bill_settles_while_pending check ((settle_at is not null) = (state = 'pending')),
  constraint bill_refused_why check ((failure_code is not null) = (state = 'refused')),
  constraint bill_unknown_was_enquired check (state <> 'not_found' or enquired_at is not null),
  constraint bill_amount_positive check (amount_minor > 0),
  constraint bill_details_whole check (
    (state = 'not_found') = (biller_code is null)
    and (state = 'not_found') = (product_code is null)
    and (state = 'not_found') = (currency is null)
    and (state = 'not_found') = (amount_minor is null)
    and (state = 'not_found') = (customer_reference is null)
    and (state = 'not_found') = (provider_reference is null)
  )
);

create index bill_due on bill (settle_at) where settle_at is not null;
