-- Finds what customers left behind by its age, so that it can be deleted. A session that was spent stays: a repeat of the
-- transaction that spent it brings its token again.

create index session_old on session (expire_time) where consumed_by is null;
create index session_request_old on session_request (expire_time);
create index backend_task_old on backend_task (done_time) where done_time is not null;
