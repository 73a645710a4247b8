-- Instances of billing, so that the payments of one that was killed are recovered within seconds and not when their leases expire.

-- As in delivery: an instance holds an advisory lock under its id for as long as its database session lives, and its lease tokens
-- begin with the first half of its id.
create table instance (
  instance_id uuid primary key,
  started_at timestamptz not null,
  -- When its leases were first released because its session was gone; null while it has one.
  lost_at timestamptz
);

-- The key of an instance's advisory lock.
create function instance_lock(instance_id uuid) returns bigint
language sql stable parallel safe
as $$
  select hashtextextended('payweave.billing.instance.' || instance_id, 0)
$$;
