-- All SQL of a service takes time from this one function, so that tests can shift it for a session and nobody else can notice.
create function clock_now() returns timestamptz
language sql stable parallel safe
as $$
  select statement_timestamp()
    + coalesce(nullif(current_setting('payweave.clock_offset', true), '')::interval, interval '0')
$$;
