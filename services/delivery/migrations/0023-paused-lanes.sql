-- A lane can be paused: nothing of it is sent until it is resumed. Who did either is kept for ever.

-- The version before does not know it: it sends what is due, until its last process has ended.
alter table endpoint add column paused_at timestamptz;
create index endpoint_paused on endpoint (project_id, origin) where paused_at is not null;

create table lane_change (
  -- It grows with time.
  change_id uuid primary key,
  change_time timestamptz not null default clock_now(),
  project_id uuid not null,
  endpoint_id uuid not null,
  origin text not null,
  lane_kind text,
  -- Paused, or else resumed.
  is_paused boolean not null,
  -- Why, by the person or bearer who did it.
  note text not null,
  caller text not null,
  request_id text,
  constraint lane_change_note_short check (char_length(note) <= 200)
);

create index lane_change_newest on lane_change (project_id, change_id);

create function keep_lane_change() returns trigger language plpgsql as $$
begin
  raise exception 'changes of lanes are kept' using errcode = 'check_violation';
end
$$;
create trigger lane_change_kept before update or delete or truncate on lane_change
  for each statement execute function keep_lane_change();
