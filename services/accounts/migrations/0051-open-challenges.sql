-- The open questions of a project to one account, which are counted before another one.

create index challenge_open_of_account on challenge (project_id, account_id, expire_time)
  where state = 'open';
