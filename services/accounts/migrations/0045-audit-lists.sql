-- The audit of one person, and of one thing that was changed, newest first.

create index access_audit_of_caller on access_audit (caller, occurred_at, audit_id);
create index access_audit_of_target on access_audit (target_id, occurred_at, audit_id);
