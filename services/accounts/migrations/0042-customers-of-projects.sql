-- Profiles that a project created, newest first, for people who look after its customers.

create index review_of_project on review (project_id, create_time, account_id);
