-- Finds refunds that the back end has accepted and not reported on: there are few at any time.
create index refund_open on refund (create_time) where state = 'sent';
