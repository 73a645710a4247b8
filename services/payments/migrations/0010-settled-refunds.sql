-- Refunds that the back end refused, for the staff's list of them, and what was done about each.

create index refund_failed on refund (create_time, refund_id) where state = 'failed';

-- A person has paid the payer by hand. The money stays under refunds_unpaid in the ledger.
create table refund_settled (
  refund_id uuid primary key references refund,
  -- As audits name a caller: console:ama@example.com.
  settled_by text not null,
  note text not null,
  settle_time timestamptz not null default clock_now(),
  constraint refund_settled_sized check (length(note) between 1 and 2000)
);
