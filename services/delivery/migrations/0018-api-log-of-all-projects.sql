-- The staff list the API log over all projects: the newest entries, and the few of them that did not succeed.

-- Every row passes the condition on the duration, which only these lists name: the planner must not read a project's list by an
-- index of all, where the few requests of a quiet project are far apart.
create index api_request_of_all on api_request (entry_id) where duration_ms >= 0;
create index api_request_of_all_not_succeeded on api_request (entry_id) where status >= 400 and duration_ms >= 0;
