-- Attempts are found by their payer, so also those that the back end turned out not to have: a payment's history keeps them.

create index concurrently if not exists attempt_of_payer on attempt (payer_id);
