-- Announcements leave no row behind when they have ended, so that the table holds what is open and what has just ended. It stays
-- small however much is written, and a threshold by its size would have it vacuumed and analysed all the time; each time the plans of
-- the write of a payment are made anew. The dead rows of some seconds cost less.
alter table task set (
  autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_insert_threshold = 20000,
  autovacuum_analyze_threshold = 20000
);
