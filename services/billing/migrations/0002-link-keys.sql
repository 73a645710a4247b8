-- Names the key from which the token in a receipt's link is derived, so that link.key can rotate. Null: no receipt, or the one key of
-- before key lists.
alter table bill_payment add column link_key_id text check (link_key_id ~ '^[0-9a-f]{8}$');
