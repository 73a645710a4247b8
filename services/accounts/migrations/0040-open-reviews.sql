-- Open reviews, oldest first, for the staff's list of them.

create index review_open on review (create_time, review_id) where state = 'open';
