-- The transfers of one reference of a project, newest first.

create index concurrently if not exists transfer_of_reference on transfer
  (project_id, reference, post_time desc, transfer_id desc) where reference <> '';
