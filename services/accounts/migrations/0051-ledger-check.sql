-- What the periodic check of the ledger found last, by statement. One replica checks at a time, and all show this.

create table ledger_check (
  name text primary key,
  rule text not null,
  -- Of the last time that the statement ended; kept when it fails.
  findings text[] not null default '{}',
  -- Number of transfers, and the time, at which it began then. Null: it has never ended.
  transfers bigint not null default 0,
  check_time timestamptz,
  -- When it last ended or failed.
  try_time timestamptz not null default clock_now(),
  has_failed boolean not null default false
);
