-- Names the key under which a stored value was made, so that keys can rotate. Null: the one key of before key lists.

-- The pepper of the digest. A key's digest moves to the newest pepper when the key is next used.
alter table subscription_key add column pepper_id text check (pepper_id ~ '^[0-9a-f]{8}$');
alter table api_key add column pepper_id text check (pepper_id ~ '^[0-9a-f]{8}$');

-- The pepper of the pin, which cannot move: nobody has the pin but its owner.
alter table business_owner add column pin_pepper_id text check (pin_pepper_id ~ '^[0-9a-f]{8}$');

-- The key that the session's token was derived from: a repeat of the request derives it again. No check, since opening
-- a session is hot.
alter table session add column key_id text;
