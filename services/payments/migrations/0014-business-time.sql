-- A payout ends in business time.
create or replace function guard_payout_transition() returns trigger language plpgsql as $$
begin
  if (old.payout_state, new.payout_state) in (
    ('waiting', 'scheduled'), ('waiting', 'sent'), ('scheduled', 'sent'), ('scheduled', 'voided'),
    ('sent', 'completed'), ('sent', 'failed')
  ) then
    if new.payout_state in ('completed', 'failed', 'voided') then
      new.payout_end_time := business_now();
    end if;
    return new;
  end if;
  raise exception 'a payout cannot go from % to %', old.payout_state, new.payout_state
    using errcode = 'check_violation', constraint = 'payout_transition';
end
$$;
