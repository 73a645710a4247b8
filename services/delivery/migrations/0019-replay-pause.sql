-- A replay can be paused and resumed, and those of a project are listed, the newest first.

-- A paused job has its own state, so that the version before, which takes running jobs alone, does not step it either.
alter table replay_job drop constraint replay_job_state_known;
alter table replay_job add constraint replay_job_state_known check (
  state in ('running', 'paused', 'done', 'cancelled')
);
alter table replay_job drop constraint replay_job_ended_has_time;
alter table replay_job add constraint replay_job_ended_has_time check (
  (state in ('running', 'paused')) = (ended_at is null)
);

create index replay_job_of_project on replay_job (project_id, created_at, job_id);
