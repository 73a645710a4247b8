-- A replay can be of one receiver or of one payment request or account.

alter table replay_job add column origin text;
alter table replay_job add column subject_id text;

-- Such a job runs in a state of its own, so that the version before, which would replay the pushes of all receivers, does not step it.
alter table replay_job drop constraint replay_job_state_known;
alter table replay_job add constraint replay_job_state_known check (
  state in ('running', 'narrowed', 'paused', 'done', 'cancelled')
);
alter table replay_job drop constraint replay_job_ended_has_time;
alter table replay_job add constraint replay_job_ended_has_time check (
  (state in ('running', 'narrowed', 'paused')) = (ended_at is null)
);
alter table replay_job add constraint replay_job_narrowed_by check (
  (state <> 'running' or coalesce(origin, subject_id) is null)
  and (state <> 'narrowed' or coalesce(origin, subject_id) is not null)
);

create index replay_job_narrowed on replay_job (next_step_at) where state = 'narrowed';
