-- Calls of people about one thing are listed by this index; lists have no target.

create index activity_of_target on activity (target, occur_time, activity_id) where target <> '';
