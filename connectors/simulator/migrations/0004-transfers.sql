-- Transfers. Of the parties only what decides is kept.

-- A transfer as it was handed in. One that was cancelled or enquired about before it came has no details.
create table transfer (
  transfer_id uuid primary key,
  state text not null,
  type text,
  institution_name text,
  debit_currency text,
  debit_minor bigint,
  credit_currency text,
  credit_minor bigint,
  -- What becomes of it, and when; no time: it stays pending until it is cancelled.
  end_state text,
  end_at timestamptz,
  reason text,
  received_at timestamptz not null default clock_now(),
  ended_at timestamptz,
  constraint transfer_state_known
    check (state in ('pending', 'completed', 'failed', 'cancelled', 'not_found')),
  constraint transfer_end_known check (end_state in ('completed', 'failed')),
  constraint transfer_ends_while_pending check (end_at is null or state = 'pending'),
  constraint transfer_ended_when check ((ended_at is null) = (state = 'pending')),
  constraint transfer_failed_why check ((reason is not null) = (state = 'failed')),
  constraint transfer_type_known check (type in ('inttransfer', 'deposit', 'cashout')),
  constraint transfer_amounts_positive check (debit_minor > 0 and credit_minor > 0),
  constraint transfer_unknown_without_details check (state <> 'not_found' or type is null),
  constraint transfer_details_whole check (
    (type is null and state in ('cancelled', 'not_found'))
    or (type is not null and institution_name is not null and debit_currency is not null
      and debit_minor is not null and credit_currency is not null and credit_minor is not null)
  )
);

create index transfer_due on transfer (end_at) where end_at is not null;
