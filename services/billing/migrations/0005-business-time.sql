-- A bill payment begins in business time. Whether a request for its hold may still be in flight is a matter of real time, so
-- an abandoned hold has a time of its own; those from before get a later one, which is safe.
alter table bill_payment alter column create_time set default business_now();
alter table abandoned_hold add column abandon_time timestamptz not null default clock_now();
