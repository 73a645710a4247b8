-- What is asked of MTN: a request to pay for each attempt, a transfer for each payout and refund.

create table request (
  -- The attempt or the credit.
  subject uuid primary key,
  -- X-Reference-Id, by which MTN executes it once: a UUID v4, which our ids are not.
  reference uuid not null unique default gen_random_uuid(),
  -- Written before each call that sends it.
  sent_at timestamptz,
  -- MTN has confirmed it.
  accepted_at timestamptz
);
