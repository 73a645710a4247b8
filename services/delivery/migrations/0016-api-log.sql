-- The API log: every request that projects made to the JSON API, for 30 days.

-- A row's id is a UUID v7, so it holds the time at which the request ended: partitions, pages and windows of time all go by it.
-- Rows are written once, many at a time, and never changed. Bodies were masked before they came here.
create table api_request (
  project_id uuid not null,
  entry_id uuid not null,
  merchant_id uuid,
  request_id uuid not null,
  route text not null,
  version text not null,
  status smallint not null,
  error_code text,
  duration_ms integer not null,
  client_left boolean not null,
  idempotency_key text,
  query text,
  request_body text,
  response_body text,
  primary key (project_id, entry_id)
) partition by range (entry_id);

create index api_request_by_request_id on api_request (request_id, project_id, entry_id);
create index api_request_by_idempotency_key on api_request (idempotency_key, project_id, entry_id)
  where idempotency_key is not null;
-- The few that people look for most.
create index api_request_not_succeeded on api_request (project_id, entry_id) where status >= 400;

-- What comes outside the days that have a partition.
create table api_request_default partition of api_request default;

-- The smallest id of a day.
create function api_request_day(day date) returns uuid
  language sql stable
as $$
  select (lpad(to_hex((extract(epoch from day::timestamp at time zone 'UTC') * 1000)::bigint), 12, '0')
    || repeat('0', 20))::uuid
$$;

-- Makes and drops the daily partitions, with the rights of the owner of the tables, as keep_attempt_days does.
create function keep_api_request_days(days_ahead integer, days_kept integer) returns integer
  language plpgsql security definer
  set search_path = delivery, pg_temp
as $$
declare
  today date := (clock_now() at time zone 'UTC')::date;
  day date;
  name text;
  changed integer := 0;
begin
  -- One replica at a time; the others have nothing left to do.
  if not pg_try_advisory_xact_lock(hashtextextended('payweave.delivery.api_request_days', 0)) then
    return 0;
  end if;

  for day in select today + n from generate_series(0, days_ahead) as n loop
    name := 'api_request_' || to_char(day, 'YYYYMMDD');
    -- Rows that went to the default partition stay there: their day gets no partition of its own.
    continue when to_regclass('delivery.' || name) is not null or exists (
      select 1 from api_request_default
      where entry_id >= api_request_day(day) and entry_id < api_request_day(day + 1)
    );
    execute format(
      'create table %I (like api_request including defaults including constraints) with ('
        'autovacuum_vacuum_insert_threshold = 50000, autovacuum_analyze_scale_factor = 1)',
      name
    );
    execute format(
      'alter table api_request attach partition %I for values from (%L) to (%L)',
      name, api_request_day(day), api_request_day(day + 1)
    );
    changed := changed + 1;
  end loop;

  for name in
    select child.relname
    from pg_inherits join pg_class as child on child.oid = pg_inherits.inhrelid
    where pg_inherits.inhparent = 'delivery.api_request'::regclass
      and child.relname ~ '^api_request_\d{8}$'
      and to_date(right(child.relname, 8), 'YYYYMMDD') < today - days_kept
  loop
    execute format('drop table %I', name);
    changed := changed + 1;
  end loop;

  delete from api_request_default where entry_id < api_request_day(today - days_kept);
  return changed;
end
$$;

revoke all on function keep_api_request_days(integer, integer) from public;
grant execute on function keep_api_request_days(integer, integer) to payweave_delivery;

select keep_api_request_days(3, 30);
