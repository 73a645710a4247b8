-- Drops the indexes that only the version before 0011 reads.
drop index delivery_fresh;
drop index delivery_retry;
