-- When attempts and credits ended, by which their day is reconciled.

alter table attempt
  -- Null as long as it is in progress, and for one that ended before this was stored.
  add column ended_at timestamptz;

alter table credit
  add column ended_at timestamptz;
