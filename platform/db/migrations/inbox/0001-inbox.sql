-- An event that comes twice is worked on once: its row commits together with the work.
create table inbox (
  event_id uuid primary key,
  taken_at timestamptz not null default clock_now()
);

create index inbox_taken on inbox (taken_at);

-- Messages that no repetition can help: kept for people to look at, while the stream moves on.
create table poison (
  poison_id uuid primary key default gen_random_uuid(),
  -- Null when the message did not even tell its id.
  event_id uuid,
  subject text not null,
  message bytea not null,
  reason text not null,
  poisoned_at timestamptz not null default clock_now()
);

create unique index poison_event on poison (event_id) where event_id is not null;
