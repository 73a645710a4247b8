-- User limits go by real days: a move of the test clock leaves them. Null for movements that count against no limit, and
-- for those from before, which were counted on the day of begin_time.
alter table movement add column limit_day date;
