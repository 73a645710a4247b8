-- Calls of people are kept for 400 days. Sooner nobody deletes them, and nobody changes them at all.

drop trigger activity_append_only on activity;
create trigger activity_append_only before update or truncate on activity
  for each statement execute function refuse_change();
create trigger activity_kept before delete on activity
  for each row when (old.occur_time >= clock_now() - interval '400 days')
  execute function refuse_change();

-- Deletes up to so many calls that are older, the oldest first, and returns how many. Runs as the owner of the schema: the role of
-- the console may delete none by itself. Skips rows that another replica deletes.
create function delete_old_activity(most integer) returns integer
language sql security definer set search_path from current
as $$
  with deleted as (
    delete from activity where activity_id = any (array(
      select activity_id from activity
      where occur_time < clock_now() - interval '400 days'
      order by occur_time, activity_id limit most for update skip locked))
    returning 1
  )
  select count(*)::integer from deleted
$$;
