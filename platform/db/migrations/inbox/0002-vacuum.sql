-- Rows are only written and, days later, deleted from the old end: vacuum comes by the rows that were added, so that
-- what is deleted is found on few pages.
alter table inbox set (
  autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_insert_scale_factor = 0.05
);
