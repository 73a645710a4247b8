-- An analysis of a table has every prepared plan that touches it made anew, on each connection, and sorts a sample of every
-- column; under load the outbox was analysed every ten seconds. The plans go by key and need to know of the table only that it
-- has rows: it is analysed soon, as ever, and then when about as much was written again.
alter table outbox set (
  autovacuum_vacuum_insert_threshold = 5000,
  autovacuum_analyze_scale_factor = 1
);
