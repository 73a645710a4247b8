-- Calls of people about one project are listed by this index.

create index activity_of_project on activity (project_id, occur_time, activity_id);
