-- A payer whose attempt was not announced is paid in one step, and a payout without delay is sent in the transition that
-- pays the request. The machines of services/payments/domain/payment.ts have both steps.
create or replace function guard_payer_transition() returns trigger language plpgsql as $$
begin
  if (old.state, new.state) in (
    ('Pending', 'Processing'), ('Pending', 'paid'), ('Pending', 'Cancelled'),
    ('Pending', 'Expired'), ('Pending', 'Failed'), ('Processing', 'paid'),
    ('Processing', 'Pending'), ('Processing', 'Failed'), ('paid', 'Refunded'),
    ('Cancelled', 'Refunded'), ('Expired', 'Refunded')
  ) then
    return new;
  end if;
  raise exception 'a payer cannot go from % to %', old.state, new.state
    using errcode = 'check_violation', constraint = 'payer_transition';
end
$$;

create or replace function guard_payout_transition() returns trigger language plpgsql as $$
begin
  if (old.payout_state, new.payout_state) in (
    ('waiting', 'scheduled'), ('waiting', 'sent'), ('scheduled', 'sent'), ('scheduled', 'voided'),
    ('sent', 'completed'), ('sent', 'failed')
  ) then
    return new;
  end if;
  raise exception 'a payout cannot go from % to %', old.payout_state, new.payout_state
    using errcode = 'check_violation', constraint = 'payout_transition';
end
$$;
