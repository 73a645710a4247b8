-- Instances of delivery, so that the leases of one that was killed are released within seconds and not when they run out.

-- An instance holds an advisory lock under its id for as long as its database session lives. Its lease tokens begin with the
-- first half of its id, so a lease names its owner without a column of its own.
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
  select hashtextextended('payweave.delivery.instance.' || instance_id, 0)
$$;
