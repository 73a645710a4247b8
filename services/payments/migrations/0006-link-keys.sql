-- Names the key from which a payer's link token and cash code are derived, so that link.key can rotate. Null: no link, or the one
-- key of before key lists. No check, since the write of a payment is hot.
alter table payer add column link_key_id text;
