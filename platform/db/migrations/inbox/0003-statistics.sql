-- A vacuum or an analysis of a table has every prepared plan that touches it made anew, on each connection: of steady work
-- the server spent a fifth of its time on planning. The plans go by key and need to know of a table only that it has
-- rows: it is analysed soon, as ever, and then when about as much was written again. A vacuum has some rows to do.
alter table inbox set (
  autovacuum_vacuum_insert_threshold = 5000,
  autovacuum_analyze_scale_factor = 1
);
