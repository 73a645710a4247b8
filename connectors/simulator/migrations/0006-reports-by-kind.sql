-- Ids are made by callers, and nothing keeps them from naming a payout like a refund: each kind has reports of its own.
alter table report drop constraint report_pkey, add primary key (subject_id, kind, position);
