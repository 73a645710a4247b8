-- Entries of a payment's history that stay: attempts are found by their payer, so also those that the back end turned out not to have; and
-- the time at which a refund was completed is kept when the money comes back.

create index attempt_of_payer on attempt (payer_id);

-- When the back end reported the refund completed; null until then, and for refunds that were completed before this column.
alter table refund add column completed_time timestamptz;
