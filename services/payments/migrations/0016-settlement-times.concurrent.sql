-- Settlements are listed by their time too, to reconcile a day with a provider.

create index concurrently if not exists settlement_time on settlement (create_time, settlement_id);
