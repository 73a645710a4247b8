-- Lets merchants list the pushes of their own payments.

-- Whose payment the push is about, and the type of its event. Null for onboarding pushes, and for pushes from before these
-- columns, which no merchant sees.
alter table delivery
  add column merchant_id uuid,
  add column event_type text;

-- Pages of a merchant's pushes, newest first: a page of all states merges one scan of each state. What is being sent is few
-- rows at any time and has an index of its own.
create index delivery_of_merchant on delivery (merchant_id, state, created_at, delivery_id)
  where state <> 'sending' and merchant_id is not null;
