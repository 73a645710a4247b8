-- Retention deletes the oldest 410 answers.

create index concurrently if not exists gone_url_oldest on gone_url (gone_at);
