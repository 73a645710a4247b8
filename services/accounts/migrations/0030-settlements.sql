-- How far the ledger has read payments' settlements back, and which of them it cannot take.

-- One row: the job is one, whatever the number of replicas.
create table settlement_backfill (
  one boolean primary key default true check (one),
  round bigint not null default 1,
  -- Where to go on; empty: at the first settlement.
  page_token text not null default '',
  checked_count bigint not null default 0,
  posted_count bigint not null default 0,
  start_time timestamptz not null default clock_now(),
  -- When this round last reached the end.
  caught_up_time timestamptz
);

insert into settlement_backfill default values;

create table settlement_refused (
  settlement_id uuid primary key,
  project_id uuid not null,
  reason text not null,
  refuse_time timestamptz not null default clock_now()
);

create index settlement_refused_newest on settlement_refused (refuse_time);
