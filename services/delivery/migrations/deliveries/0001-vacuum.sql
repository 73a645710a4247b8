-- Each push leaves a dead entry in the small indexes of those that are sent or wait. At the default (a fifth of the table) days of them
-- would stand there before the next vacuum, and statements that run every few seconds walk over them: as in the outbox.
alter table delivery set (
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_vacuum_cost_limit = 1000
);
