-- Which keys each running process has read: a new key is used when all of them know it, an old one removed when none uses it.
create table key_reader (
  -- Host name and process id.
  instance text not null,
  -- Name of the file of keys.
  file text not null,
  -- The current one first.
  key_ids text[] not null,
  seen_at timestamptz not null default clock_now(),
  primary key (instance, file)
);
