-- Transactions that wait for the back end, over all projects, the oldest first: there are few at any time.

create index transaction_waiting on transaction (create_time, movement_id) where state = 'pending';
