-- A lease of its own, which no hint ends, and a time before which no further hint makes work due.

alter table work
  -- Until then nobody else takes it: a worker has it.
  add column leased_until timestamptz not null default '-infinity',
  -- A hint that comes sooner makes it due then: hints alone cause one try a second.
  add column hint_after timestamptz not null default '-infinity';
