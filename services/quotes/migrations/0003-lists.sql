-- Lists of quotes: a project's in one state, newest first, and those of all projects that are held, the longest first.

create index quote_of_project on quote (project_id, state, quote_id);
create index quote_held on quote (reserve_time, quote_id) where state = 'reserved';
