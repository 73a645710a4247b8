-- The double-entry ledger: what is owed to whom, and every movement that made it so.
--
-- Posting is the hottest write, so there are no foreign keys: one statement writes all rows of a transfer and none
-- is ever deleted. Positive amounts are credits: more is owed to the holder.

create type ledger_holder as enum ('customer', 'float');
create type ledger_internal as enum (
  'clearing', 'held', 'suspense', 'fee_income', 'merchant_receivable', 'refunds_unpaid', 'fx_position',
  'fx_rounding', 'biller_clearing', 'opening'
);

-- Balances of customers and of projects' floats: these rows are locked, in the order of their key.
create table ledger_account (
  -- The customer's account, or the project.
  holder_id uuid not null,
  holder ledger_holder not null,
  currency text not null,
  posted_minor bigint not null default 0,
  held_minor bigint not null default 0,
  floor_minor bigint not null default 0,
  primary key (holder_id, holder, currency),
  constraint ledger_account_available check (posted_minor >= floor_minor + held_minor),
  constraint ledger_account_held check (held_minor >= 0)
) with (fillfactor = 70);

create table transfer (
  project_id uuid not null,
  transfer_id uuid not null,
  -- SHA-256 of what was asked: tells a repeat from a conflict.
  fingerprint bytea not null,
  line_count smallint not null,
  -- The transfer that this one takes back.
  reverses_id uuid,
  reference text not null,
  description text not null,
  method text not null,
  metadata jsonb not null,
  post_time timestamptz not null,
  primary key (project_id, transfer_id)
);

create unique index transfer_reversed_once on transfer (project_id, reverses_id)
  where reverses_id is not null;

-- Lines of transfers, for ever. A line is on a holder's account or on an internal one of the project.
create table posting (
  project_id uuid not null,
  transfer_id uuid not null,
  line smallint not null,
  holder_id uuid,
  holder ledger_holder,
  internal ledger_internal,
  currency text not null,
  amount_minor bigint not null,
  fee_minor bigint not null,
  post_time timestamptz not null,
  primary key (project_id, transfer_id, line),
  constraint posting_sound check (
    amount_minor <> 0 and fee_minor >= 0 and fee_minor <= abs(amount_minor)
    and (internal is null) = (holder is not null) and (holder_id is null) = (holder is null)
  )
);

create index posting_of_holder on posting (holder_id, post_time desc, transfer_id desc, line desc)
  where holder_id is not null;

create function check_transfer_sum() returns trigger language plpgsql as $$
begin
  perform from posting
    where project_id = new.project_id and transfer_id = new.transfer_id
    group by currency having sum(amount_minor) <> 0;
  if found then
    raise exception 'transfer % does not sum to zero', new.transfer_id
      using errcode = 'check_violation', constraint = 'transfer_sums_to_zero';
  end if;
  return null;
end
$$;

create constraint trigger posting_sums_to_zero after insert on posting
  deferrable initially deferred for each row execute function check_transfer_sum();

create trigger posting_immutable before update or delete or truncate on posting
  for each statement execute function refuse_change();
create trigger transfer_immutable before update or delete or truncate on transfer
  for each statement execute function refuse_change();
revoke update, delete, truncate on posting, transfer from payweave_accounts;

-- Internal accounts are busy and are never locked: their balance is what was folded, plus the lines not yet folded.
-- The sum of many bigints may need more than one, and nobody could refuse it.
create table internal_balance (
  project_id uuid not null,
  internal ledger_internal not null,
  currency text not null,
  posted_minor numeric(38) not null,
  primary key (project_id, internal, currency)
);

-- Copies of lines that wait to be folded; the worker that folds one removes it in the same statement.
create table internal_unfolded (
  project_id uuid not null,
  internal ledger_internal not null,
  currency text not null,
  transfer_id uuid not null,
  line smallint not null,
  amount_minor bigint not null,
  primary key (project_id, internal, currency, transfer_id, line)
);

create type hold_state as enum ('open', 'posted', 'voided', 'expired');

create table hold (
  project_id uuid not null,
  -- Also the id of the transfer that it becomes.
  hold_id uuid not null,
  fingerprint bytea not null,
  holder_id uuid not null,
  holder ledger_holder not null,
  currency text not null,
  amount_minor bigint not null,
  state hold_state not null default 'open',
  reference text not null,
  description text not null,
  method text not null,
  metadata jsonb not null,
  create_time timestamptz not null,
  expire_time timestamptz not null,
  close_time timestamptz,
  primary key (project_id, hold_id),
  constraint hold_sound check (amount_minor > 0 and (close_time is null) = (state = 'open'))
) with (fillfactor = 85);

create index hold_expiry on hold (expire_time) where state = 'open';
create index hold_of_holder on hold (holder_id, create_time desc) where state = 'open';

create trigger hold_transition before update on hold for each row
  when (old.state <> 'open') execute function refuse_change();
create trigger hold_kept before delete or truncate on hold
  for each statement execute function refuse_change();
revoke delete, truncate on hold from payweave_accounts;

create type movement_state as enum ('waiting', 'posted', 'cancelled');

-- Movements that sessions paid for. One that was cancelled before it began has no fingerprint and never begins.
create table movement (
  project_id uuid not null,
  -- Also the id of its transfer and of its hold.
  movement_id uuid not null,
  fingerprint bytea,
  state movement_state not null,
  has_hold boolean not null default false,
  limit_account_id uuid,
  limit_currency text,
  limit_minor bigint,
  reference text not null default '',
  description text not null default '',
  method text not null default '',
  metadata jsonb not null default '{}',
  -- Decides the windows of the limits that it counts in.
  begin_time timestamptz not null,
  end_time timestamptz,
  primary key (project_id, movement_id),
  constraint movement_sound check (
    (fingerprint is not null or state = 'cancelled') and (end_time is null) = (state = 'waiting')
    and (limit_account_id is null) = (limit_minor is null)
    and (limit_account_id is null) = (limit_currency is null)
  )
) with (fillfactor = 85);

create trigger movement_transition before update on movement for each row
  when (old.state <> 'waiting') execute function refuse_change();

create type limit_span as enum ('day', 'month');

-- What an account has used of its limits, by UTC day and UTC month.
create table limit_usage (
  account_id uuid not null,
  currency text not null,
  span limit_span not null,
  -- The first day of the span.
  span_start date not null,
  used_minor bigint not null,
  primary key (account_id, currency, span, span_start),
  constraint limit_usage_sound check (used_minor >= 0)
) with (fillfactor = 70);
