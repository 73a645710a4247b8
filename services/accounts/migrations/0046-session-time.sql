-- A session is a token, and tokens go by real time: a move of the test clock ends none.
alter table session alter column create_time set default clock_now();
