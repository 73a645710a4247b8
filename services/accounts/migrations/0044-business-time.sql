-- Accounts, sessions, reviews and challenges begin in business time, by which they end.
alter table account alter column create_time set default business_now();
alter table account alter column update_time set default business_now();
alter table session alter column create_time set default business_now();
alter table review alter column create_time set default business_now();
alter table challenge alter column create_time set default business_now();
