-- The transfers of a project, newest first: all of them, and those of one reference.

create index transfer_newest on transfer (project_id, post_time desc, transfer_id desc);
create index transfer_of_reference on transfer
  (project_id, reference, post_time desc, transfer_id desc) where reference <> '';
