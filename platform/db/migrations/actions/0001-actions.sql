-- What people and bearers had this service do that changes no record of its own. It is kept for ever.
create table action_audit (
  -- It grows with time.
  action_id uuid primary key,
  action_time timestamptz not null default clock_now(),
  caller text not null,
  request_id text,
  action text not null,
  target text not null,
  note text not null
);

create function keep_action_audit() returns trigger language plpgsql as $$
begin
  raise exception 'the audit of actions is kept for ever' using errcode = 'check_violation';
end
$$;
create trigger action_audit_kept before update or delete or truncate on action_audit
  for each statement execute function keep_action_audit();
