-- A vacuum or an analysis of a table has every prepared plan that touches it made anew, on each connection: of steady work
-- the server spent a fifth of its time on planning. The plans go by key and need to know of a table only that it has
-- rows: it is analysed soon, as ever, and then when about as much was written again. A vacuum has some rows to do.
alter table delivery set (
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_insert_threshold = 5000,
  autovacuum_analyze_scale_factor = 1
);

-- Few rows, each changed some times for every push.
alter table endpoint set (
  autovacuum_vacuum_threshold = 2000,
  autovacuum_analyze_threshold = 5000
);

-- Partitions take nothing of this from their table: those that are there, and below those to come.
do $$
declare
  name text;
begin
  for name in
    select child.relname
    from pg_inherits join pg_class as child on child.oid = pg_inherits.inhrelid
    where pg_inherits.inhparent = 'attempt'::regclass
  loop
    execute format(
      'alter table %I set (autovacuum_vacuum_threshold = 5000, '
        'autovacuum_vacuum_insert_threshold = 5000, autovacuum_analyze_scale_factor = 1)',
      name
    );
  end loop;
end
$$;

create or replace function keep_attempt_days(days_ahead integer, days_kept integer) returns integer
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
  if not pg_try_advisory_xact_lock(hashtextextended('payweave.delivery.attempt_days', 0)) then
    return 0;
  end if;

  for day in select today + n from generate_series(0, days_ahead) as n loop
    name := 'attempt_' || to_char(day, 'YYYYMMDD');
    -- Rows that went to the default partition stay there: their day gets no partition of its own.
    continue when to_regclass('delivery.' || name) is not null or exists (
      select 1 from attempt_default
      where started_at >= (day::timestamp at time zone 'UTC')
        and started_at < ((day + 1)::timestamp at time zone 'UTC')
    );
    execute format(
      'create table %I (like attempt including defaults including constraints) with ('
        'fillfactor = 70, autovacuum_vacuum_threshold = 5000, '
        'autovacuum_vacuum_insert_threshold = 5000, autovacuum_analyze_scale_factor = 1)',
      name
    );
    execute format(
      'alter table attempt attach partition %I for values from (%L) to (%L)',
      name, day::text || ' 00:00:00+00', (day + 1)::text || ' 00:00:00+00'
    );
    changed := changed + 1;
  end loop;

  for name in
    select child.relname
    from pg_inherits join pg_class as child on child.oid = pg_inherits.inhrelid
    where pg_inherits.inhparent = 'delivery.attempt'::regclass
      and child.relname ~ '^attempt_\d{8}$'
      and to_date(right(child.relname, 8), 'YYYYMMDD') < today - days_kept
  loop
    execute format('drop table %I', name);
    changed := changed + 1;
  end loop;

  delete from attempt_default
  where started_at < ((today - days_kept)::timestamp at time zone 'UTC');
  return changed;
end
$$;

