-- What merchants list and read of their payments: an index for pages, the reason of a refund, and when money went out.

-- Pages of a merchant's payments, newest first. The state comes before the time, so that payments in a rare state are found
-- without reading the others; a page of all states merges one scan of each state.
create index payment_of_merchant on payment (merchant_id, state, create_time, payment_id);

-- Why a merchant refunded a payment. A table of its own, since few refunds have a reason.
create table refund_reason (
  payment_id uuid primary key,
  project_id uuid not null,
  reason text not null,
  create_time timestamptz not null,
  constraint refund_reason_sized check (length(reason) between 1 and 200)
);

-- When the back end reported the outcome; null while it is sent, and for refunds from before this column.
alter table refund add column end_time timestamptz;

-- When the payout was completed, failed or was voided; null until then, and for payouts from before this column.
alter table payee add column payout_end_time timestamptz;

create or replace function guard_payout_transition() returns trigger language plpgsql as $$
begin
  if (old.payout_state, new.payout_state) in (
    ('waiting', 'scheduled'), ('waiting', 'sent'), ('scheduled', 'sent'), ('scheduled', 'voided'),
    ('sent', 'completed'), ('sent', 'failed')
  ) then
    if new.payout_state in ('completed', 'failed', 'voided') then
      new.payout_end_time := clock_now();
    end if;
    return new;
  end if;
  raise exception 'a payout cannot go from % to %', old.payout_state, new.payout_state
    using errcode = 'check_violation', constraint = 'payout_transition';
end
$$;
