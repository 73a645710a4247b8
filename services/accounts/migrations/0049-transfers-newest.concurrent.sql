-- The transfers of a project, newest first.

create index concurrently if not exists transfer_newest on transfer (project_id, post_time desc, transfer_id desc);
