-- Attempts to submit a transfer that the back end certainly did not execute. Rows from before count none, and so nothing ends by it.

alter table transaction add column unexecuted_attempts integer not null default 0;
