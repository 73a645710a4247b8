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

-- Short numbers, as they are possible in E.164: 5 to 15 digits. Rows of before have 7 digits at least, so none has to be read again.

alter table merchant
  drop constraint merchant_mobile_number_check,
  add constraint merchant_mobile_number_check check (mobile_number ~ '^\+[1-9][0-9]{4,14}$') not valid;
alter table account
  drop constraint account_sound,
  add constraint account_sound check (
    level between 0 and 2
    and currency ~ '^[A-Z]{3}$'
    and mobile_number ~ '^\+[1-9][0-9]{4,14}$'
    and (account_number is not null or status in ('pending_review', 'rejected'))
  ) not valid;
