-- An event occurs in business time, which pushes show.
alter table outbox alter column occurred_at set default business_now();
