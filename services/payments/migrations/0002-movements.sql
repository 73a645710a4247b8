-- Money that moved, what the back end must still be told, and what it told us.

create type settlement_kind as enum (
  'payer_receipt', 'late_receipt', 'duplicate_receipt', 'fee', 'merchant_fee', 'fee_returned',
  'merchant_fee_returned', 'refund', 'refund_returned', 'payout', 'payout_returned',
  'payout_recovery'
);

-- Every movement of money, once and for ever. A ledger is posted from these rows.
create table settlement (
  settlement_id uuid primary key,
  project_id uuid not null,
  payment_id uuid not null,
  kind settlement_kind not null,
  payer_id uuid,
  payee_id uuid,
  -- The attempt at the back end that brought the money.
  attempt_id text,
  -- For a refund, the receipt that goes back; for a returned refund, the refund.
  reverses_id uuid,
  amount_minor bigint not null,
  currency text not null,
  create_time timestamptz not null,
  constraint settlement_amount_positive check (amount_minor > 0),
  constraint settlement_receipt_names_attempt check (
    (attempt_id is not null and payer_id is not null)
    or kind not in ('payer_receipt', 'late_receipt', 'duplicate_receipt')
  ),
  constraint settlement_refund_names_receipt check (
    (reverses_id is not null and payer_id is not null) or kind not in ('refund', 'refund_returned')
  ),
  constraint settlement_payout_names_payee check (
    payee_id is not null or kind not in ('payout', 'payout_returned', 'payout_recovery')
  )
);

create index settlement_payment on settlement (payment_id);

-- One settlement per payer ever: whatever else comes in for him is a duplicate.
create unique index settlement_one_per_payer on settlement (payer_id)
  where kind in ('payer_receipt', 'late_receipt');
create unique index settlement_one_per_duplicate on settlement (payer_id, attempt_id)
  where kind = 'duplicate_receipt';
create unique index settlement_reversed_once on settlement (reverses_id)
  where reverses_id is not null;
create unique index settlement_once_per_payee on settlement (payee_id, kind)
  where payee_id is not null;
create unique index settlement_fee_once on settlement (payment_id, kind)
  where kind in ('fee', 'merchant_fee', 'fee_returned', 'merchant_fee_returned');

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% rows are never changed', tg_table_name using errcode = 'check_violation';
end
$$;

create trigger settlement_immutable before update or delete on settlement
  for each row execute function refuse_change();
create trigger settlement_kept before truncate on settlement
  for each statement execute function refuse_change();

revoke update, delete, truncate on settlement from payweave_payments;

create type refund_state as enum ('sent', 'completed', 'failed');

-- Money on its way back to a payer. The id is that of the refund's settlement row.
create table refund (
  refund_id uuid primary key,
  project_id uuid not null,
  payment_id uuid not null,
  payer_id uuid not null,
  amount_minor bigint not null,
  currency text not null,
  state refund_state not null default 'sent',
  create_time timestamptz not null,
  constraint refund_amount_positive check (amount_minor > 0)
);

create index refund_payment on refund (payment_id);

create trigger refund_transition before update of state on refund for each row
  when (old.state <> new.state and old.state <> 'sent')
  execute function refuse_change();

create type task_kind as enum ('announce', 'withdraw', 'refund', 'payout');

-- What the back end must be told, written with the transition that calls for it. A row is open until
-- done_time is set; it is tried again for ever.
create table task (
  -- Payer for announce and withdraw, refund for refund, payee for payout.
  subject_id uuid not null,
  kind task_kind not null,
  project_id uuid not null,
  payment_id uuid not null,
  -- Why a charge is withdrawn: the state that the request ended in.
  reason payment_state,
  attempts integer not null default 0,
  create_time timestamptz not null,
  -- When it may be taken (again): moved forward while a worker has it in hand.
  next_time timestamptz not null,
  done_time timestamptz,
  primary key (subject_id, kind)
) with (fillfactor = 85);

create index task_open on task (next_time) where done_time is null;

-- Attempts to pay that we began ourselves and whose outcome the back end still owes.
create table attempt (
  attempt_id text primary key,
  project_id uuid not null,
  payment_id uuid not null,
  payer_id uuid not null,
  create_time timestamptz not null,
  enquiries integer not null default 0,
  -- When a completer asks for the outcome; null once it is known.
  next_enquiry_time timestamptz
) with (fillfactor = 85);

create index attempt_open on attempt (next_enquiry_time) where next_enquiry_time is not null;

create type charge_outcome as enum ('processing', 'paid', 'refused');

-- What the back end reported of a charge. The first report of a fact counts.
create table charge_report (
  payer_id uuid not null,
  attempt_id text not null,
  outcome charge_outcome not null,
  report_time timestamptz not null,
  primary key (payer_id, attempt_id, outcome),
  constraint charge_report_attempt_sized check (length(attempt_id) between 1 and 64)
);
