-- Which connector takes a charge or a payout, and what each row was decided to be.

-- The connector that a charge was announced to or a payout handed over to, and that an attempt was tried at. Null: the connector
-- at BACKEND_URL, for rows from before routes and for payouts that nobody has handed over. No check, since the write of a payment is hot.
alter table payer add column connector text;
alter table payee add column connector text;
alter table attempt add column connector text;

-- Attempts that certainly reached no connector. While all did, the call may go to another one: each attempt that a process of
-- an earlier version makes counts in `attempts` alone, so that it ends this.
alter table task add column unsent_attempts integer not null default 0;

create type route_kind as enum ('charge', 'payout');

-- The empty text stands for any; the most specific route of a charge or a payout counts.
create table route (
  kind route_kind not null,
  project_id text not null,
  currency text not null,
  channel text not null,
  method text not null,
  connector text not null,
  -- Tried when the connector certainly received nothing; empty: none.
  fallback_connector text not null,
  -- As audits name a caller: console:ama@example.com.
  changed_by text not null,
  update_time timestamptz not null,
  primary key (kind, project_id, currency, channel, method),
  constraint route_sound check (
    connector <> fallback_connector and (kind = 'charge' or (channel = '' and method = ''))
  )
);

-- One row, which each change of a route increments: replicas poll it, and two changes never run at the same time.
create table route_version (
  one boolean primary key default true,
  version bigint not null,
  constraint route_version_single check (one)
);
insert into route_version (version) values (0);

-- Who changed which route, for ever. A route that was deleted has no connector any more.
create table route_change (
  change_id uuid primary key,
  change_time timestamptz not null,
  caller text not null,
  request_id text,
  kind route_kind not null,
  project_id text not null,
  currency text not null,
  channel text not null,
  method text not null,
  connector text,
  fallback_connector text
);

create index route_change_newest on route_change (change_time, change_id);

create trigger route_change_immutable before update or delete on route_change
  for each row execute function refuse_change();
create trigger route_change_kept before truncate on route_change
  for each statement execute function refuse_change();

revoke update, delete, truncate on route_change from payweave_payments;
