-- Keeps payments fast while its tables grow without end. The defaults wait for changes of a fifth of a table, which is
-- far apart once there are millions of rows, and then takes long; a fiftieth comes often and takes seconds.
alter table payment set (
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_analyze_scale_factor = 0.02
);

alter table payer set (
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_analyze_scale_factor = 0.02
);

alter table payee set (
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05
);

-- A task is changed twice: taken, and done.
alter table task set (
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_vacuum_cost_limit = 1000
);
