-- What people did about dead letters of events; kept for ever.
create table dead_letter_decision (
  decision_id uuid primary key default gen_random_uuid(),
  decide_time timestamptz not null default clock_now(),
  -- As audits name a caller: console:ama@example.com.
  caller text not null,
  request_id text,
  is_discarded boolean not null,
  note text not null,
  -- The dead letter as it was.
  dead_letter_id uuid not null,
  side text not null,
  event_id uuid,
  subject text not null,
  project_id uuid,
  reason text not null,
  consumers text[] not null,
  since_time timestamptz not null,
  constraint dead_letter_decision_sound check (
    side in ('outbox', 'inbox') and (not is_discarded or note <> '') and (is_discarded or event_id is not null)
  )
);
create index dead_letter_decision_newest on dead_letter_decision (decide_time, decision_id);

create function keep_dead_letter_decision() returns trigger language plpgsql as $$
begin
  raise exception 'decisions about dead letters are kept for ever' using errcode = 'check_violation';
end
$$;
create trigger dead_letter_decision_kept before update or delete or truncate on dead_letter_decision
  for each statement execute function keep_dead_letter_decision();
