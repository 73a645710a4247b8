-- Who of the staff works on what waits for a person.

create table item_claim (
  kind text not null,
  item_id uuid not null,
  -- As the audit names them.
  holder text not null,
  claim_time timestamptz not null default clock_now(),
  -- From whom the holder has taken it over.
  taken_from text,
  primary key (kind, item_id),
  constraint item_claim_sound check (
    kind in ('onboarding', 'bill', 'refund', 'suspense', 'settlement', 'dead_letter')
    and holder <> '' and taken_from <> holder)
);
create index item_claim_oldest on item_claim (claim_time);
