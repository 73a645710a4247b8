-- Pages of a project's settlements, newest first: the statement of the money that is held. Ids grow with time.

create index concurrently if not exists settlement_of_project on settlement (project_id, settlement_id);
