-- What one person requested and a second one must approve; kept for ever, as the audit of both.

-- Also waiting once it has expired, until somebody requests the same again.
create type approval_state as enum ('waiting', 'approved', 'rejected', 'expired');

create table approval (
  approval_id uuid primary key,
  project_id uuid not null,
  -- Id of the payment, or transaction id of the bill payment.
  subject_id text not null,
  amount_minor bigint not null,
  currency text not null,
  -- What is to be decided of it; empty where there is one thing to do.
  outcome text not null,
  note text not null,
  -- As audits name a caller: console:ama@example.com.
  requester text not null,
  request_id text,
  create_time timestamptz not null default clock_now(),
  expire_time timestamptz not null,
  state approval_state not null default 'waiting',
  decider text,
  decide_request_id text,
  decide_time timestamptz,
  decision_note text not null default '',
  constraint approval_decided check (
    (state in ('approved', 'rejected')) = (decider is not null and decide_time is not null)
  ),
  constraint approval_by_two check (state <> 'approved' or lower(decider) <> lower(requester))
);

create unique index approval_waiting_once on approval (project_id, subject_id) where state = 'waiting';
create index approval_waiting on approval (approval_id) where state = 'waiting';
create index approval_of_project on approval (project_id, approval_id);
create index approval_of_subject on approval (project_id, subject_id, approval_id);

create function guard_approval() returns trigger language plpgsql as $$
begin
  if tg_op <> 'UPDATE' then
    raise exception 'approvals are kept for ever' using errcode = 'check_violation';
  end if;
  if old.state <> 'waiting' or (old.approval_id, old.project_id, old.subject_id, old.amount_minor, old.currency,
      old.outcome, old.note, old.requester, old.request_id, old.create_time, old.expire_time)
    is distinct from (new.approval_id, new.project_id, new.subject_id, new.amount_minor, new.currency,
      new.outcome, new.note, new.requester, new.request_id, new.create_time, new.expire_time) then
    raise exception 'a request and its decision never change' using errcode = 'check_violation';
  end if;
  return new;
end
$$;
create trigger approval_guard before update or delete on approval
  for each row execute function guard_approval();
create trigger approval_kept before truncate on approval
  for each statement execute function guard_approval();
