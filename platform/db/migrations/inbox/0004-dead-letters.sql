-- Dead letters are listed from the oldest on.

create index poison_oldest on poison (poisoned_at, poison_id);
