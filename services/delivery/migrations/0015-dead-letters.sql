-- Pushes that were given up are listed over all projects, the last first. Those with 410 had no index of their own.

create index delivery_gone on delivery (ended_at, delivery_id) where state = 'gone';
