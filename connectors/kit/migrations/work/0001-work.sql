-- Work that a connector owes and must not lose: reports to Payweave, webhooks of the provider, calls to the provider.

create table work (
  -- Order of arrival: work on one subject is done in it.
  position bigint generated always as identity primary key,
  -- Who does it: 'report.payments', 'webhook', or a kind of the connector's own.
  kind text not null,
  -- Names the fact: a second arrival of the same one is ignored.
  key text not null,
  -- What it is about. Work of one kind on one subject is done one after the other.
  subject text not null,
  payload bytea not null,
  written_at timestamptz not null default clock_now(),
  attempts integer not null default 0,
  -- When it may be tried (again); moved forward while a worker has it.
  next_at timestamptz not null default clock_now(),
  done_at timestamptz,
  -- Refused permanently: kept for an operator.
  dead_at timestamptz,
  last_reason text,
  constraint work_once unique (kind, key),
  constraint work_sized check (octet_length(payload) <= 1048576 and length(key) <= 200 and length(subject) <= 200),
  constraint work_ends_once check (done_at is null or dead_at is null)
) with (fillfactor = 80);

create index work_due on work (kind, next_at) where done_at is null and dead_at is null;
create index work_of_subject on work (kind, subject, position) where done_at is null and dead_at is null;
create index work_done on work (done_at) where done_at is not null;
