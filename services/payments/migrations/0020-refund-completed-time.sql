-- The time at which a refund was completed is kept when the money comes back: a payment's history keeps both.

-- When the back end reported the refund completed; null until then, and for refunds that were completed before this column.
alter table refund add column completed_time timestamptz;
