-- Retention deletes the oldest 410 answers.

create index gone_url_oldest on gone_url (gone_at);
