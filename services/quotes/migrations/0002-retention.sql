-- Quotes that nobody used are deleted a month after their time.

create index quote_unused on quote (expire_time) where state = 'open';
