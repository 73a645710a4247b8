-- How long work has failed, for its backoff, for an alert and for the end of its patience; and an index of what is not done.

alter table work
  -- Tries that failed since the last one that did not.
  add column failures integer not null default 0,
  -- Since when every try has failed; null when the last one did not.
  add column failing_since timestamptz;

create index work_not_done on work (kind, position) include (dead_at, failing_since) where done_at is null;
