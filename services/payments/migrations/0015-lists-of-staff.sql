-- Payments of a merchant are found by their amount, and attempts without an outcome are listed over all projects, oldest first.

create index payment_of_amount on payment (merchant_id, amount_minor, create_time);
create index attempt_processing on attempt (create_time, payer_id) where next_enquiry_time is not null;
