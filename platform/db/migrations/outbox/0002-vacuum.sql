-- Keeps the outbox fast while it holds a week of events: each row is written once and changed three times within
-- seconds, and at the defaults (a fifth of the table) millions of dead entries would stand in the small indexes that
-- relays walk before the first vacuum.
alter table outbox set (
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_analyze_threshold = 5000,
  autovacuum_analyze_scale_factor = 0.05,
  autovacuum_vacuum_cost_limit = 1000
);

alter table confirmation set (
  autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_insert_scale_factor = 0.05
);
