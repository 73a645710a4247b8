-- Rounds of deliveries: each replay is one more, and each wish for one is kept, so that its repeat begins none.

alter table delivery add column round integer not null default 1;
alter table attempt add column round integer not null default 1;

-- One wish to replay one delivery, by the caller's id.
create table replay_request (
  project_id uuid not null,
  request_id uuid not null,
  delivery_id uuid not null,
  created_at timestamptz not null,
  primary key (project_id, request_id)
);

create index replay_request_created on replay_request (created_at);

-- A replay of many deliveries. Each step is one transaction that makes some of them due and moves the cursor past
-- them: a crash leaves neither or both. The locked row keeps other replicas away, next_step_at keeps the pace.
create table replay_job (
  job_id uuid primary key,
  project_id uuid not null,
  idempotency_key text not null,
  kind text,
  states text[] not null,
  from_at timestamptz not null,
  to_at timestamptz not null,
  rate_per_s integer not null,
  -- SHA-256 of what was asked for: another wish under the same key is refused.
  fingerprint bytea not null,
  state text not null default 'running',
  replayed bigint not null default 0,
  -- The last delivery that was looked at.
  cursor_at timestamptz,
  cursor_id uuid,
  next_step_at timestamptz not null,
  created_at timestamptz not null,
  ended_at timestamptz,
  constraint replay_job_state_known check (state in ('running', 'done', 'cancelled')),
  constraint replay_job_ended_has_time check ((state = 'running') = (ended_at is null)),
  constraint replay_job_rate_ranged check (rate_per_s between 1 and 1000),
  constraint replay_job_cursor_whole check ((cursor_at is null) = (cursor_id is null)),
  constraint replay_job_states_ended check (
    states <@ array['delivered', 'exhausted', 'gone', 'blocked', 'cancelled'] and cardinality(states) > 0
  ),
  unique (project_id, idempotency_key)
);

create index replay_job_running on replay_job (next_step_at) where state = 'running';
create index replay_job_ended on replay_job (ended_at) where ended_at is not null;
