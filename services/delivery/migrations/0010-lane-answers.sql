-- Lanes know when a URL of theirs last answered: a time-out says something about the receiver only if no other URL answered meanwhile.

-- The key of a URL: short, and the same wherever it is made.
create function url_key(url text) returns bytea
language sql stable parallel safe
as $$
  select substr(sha256(convert_to(url, 'UTF8')), 1, 16)
$$;

-- The latest answer of the lane with the URL that gave it, and the latest one of any other URL: of each URL it is then known
-- when another one last answered.
alter table endpoint
  add column answered_at timestamptz,
  add column answered_url bytea,
  add column other_answered_at timestamptz;
