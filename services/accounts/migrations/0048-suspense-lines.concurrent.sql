-- Lines of suspense, of which there are few: the staff sees which payments the money in it came for.

create index concurrently if not exists posting_of_suspense on posting (project_id, currency) where internal = 'suspense';
