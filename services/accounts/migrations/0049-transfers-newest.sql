-- The transfers of a project, newest first. The index of a reference is in a file of its own, so that transfers can be
-- posted between the two builds.

create index transfer_newest on transfer (project_id, post_time desc, transfer_id desc);
