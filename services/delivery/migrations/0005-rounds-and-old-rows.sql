-- Rounds know where they began, deletions and lists walk no row that they do not want.

-- Attempts of the rounds before this one.
alter table delivery add column earlier_attempts integer not null default 0;
update delivery set earlier_attempts = attempts where round > 1;

-- What was given up stays 90 days, the rest 30: in one index it would be walked again and again.
create index delivery_done on delivery (ended_at) where state in ('delivered', 'gone', 'cancelled');
drop index delivery_ended;

-- A state that is rare in its project is found without reading the others. What is being sent is few rows at
-- any time and has an index of its own.
create index delivery_project_state on delivery (project_id, state, created_at, delivery_id)
  where state <> 'sending';
