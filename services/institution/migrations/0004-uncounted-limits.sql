-- Only what leaves the session's account counts against its limits. Rows from before count what enters it, too: a repeated call has
-- to be the same.

alter table transaction add column counts_limit boolean not null default true;
