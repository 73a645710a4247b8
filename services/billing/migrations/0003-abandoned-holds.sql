-- Holds of payments that were given up before a biller was called. Their claims are dropped and their keys
-- free; a worker releases the holds.
create table abandoned_hold (
  -- The ledger knows the hold by it. No later payment has it.
  bill_payment_id uuid primary key,
  project_id uuid not null,
  transaction_id text not null,
  amount_minor bigint not null check (amount_minor > 0),
  currency text not null,
  -- That of the payment.
  create_time timestamptz not null,
  -- When the ledger is to be called next.
  next_time timestamptz not null,
  attempts smallint not null default 0
);

create index abandoned_hold_due on abandoned_hold (next_time);
