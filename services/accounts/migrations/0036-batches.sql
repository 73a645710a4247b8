-- Transfers are written many at a time. Every statement that inserts lines must leave each of its transfers at zero in each currency: the
-- trigger looks at the lines of the statement alone, once, where the one before read every transfer again for each of its lines. Lines are
-- never changed or deleted, so what sums to zero after each statement sums to zero at COMMIT and ever after. To drop the old trigger would
-- wait behind a check of the whole ledger, and every reader behind that: here it loses its work, and a contract step drops it.

create function check_lines_sum() returns trigger language plpgsql as $$
declare
  broken uuid;
begin
  select transfer_id into broken from added
    group by project_id, transfer_id, currency having sum(amount_minor) <> 0 limit 1;
  if found then
    raise exception 'transfer % does not sum to zero', broken
      using errcode = 'check_violation', constraint = 'transfer_sums_to_zero';
  end if;
  return null;
end
$$;

create trigger lines_sum_to_zero after insert on posting referencing new table as added
  for each statement execute function check_lines_sum();
create or replace function check_transfer_sum() returns trigger language plpgsql as $$
begin
  return null;
end
$$;

-- One row has what a whole batch of transfers changed of an account, and nobody could refuse a sum that needs more than a bigint.
alter table internal_unfolded alter column amount_minor type numeric(38);
