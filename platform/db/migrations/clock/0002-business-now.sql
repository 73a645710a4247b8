-- Business time: what deadlines, delays and schedules of business go by, and when things happened. It is clock_now(), until
-- the test clock of a sandbox is moved ahead. Leases, retries and retention of our own records go by clock_now().

-- How far business time is ahead. A move replaces the body, so that no statement reads a table for it: both functions are
-- inlined. Stable although it is a constant, because plans that hold an immutable one would not follow.
create function clock_ahead() returns interval
language sql stable parallel safe
as $$
  select interval '0 milliseconds'
$$;

create function business_now() returns timestamptz
language sql stable parallel safe
as $$
  select clock_now() + clock_ahead()
$$;

-- Moves business time until it is so far ahead, never back; returns by how many milliseconds it moved. Runs as the owner of
-- the schema: the role of a service may replace no function.
create function advance_clock(ahead_ms bigint) returns bigint
language plpgsql security definer set search_path from current
as $$
declare
  was_ms bigint;
begin
  -- One move at a time, of which the next one knows.
  lock table schema_migration in share update exclusive mode;
  was_ms := round(extract(epoch from clock_ahead()) * 1000);
  if ahead_ms <= was_ms then
    return 0;
  end if;
  execute format(
    'create or replace function clock_ahead() returns interval language sql stable parallel safe as %L',
    format('select interval %L', ahead_ms || ' milliseconds')
  );
  return ahead_ms - was_ms;
end
$$;
