-- The audit, newest first: all of it, that of one person, and that of one thing that was changed.

create index catalogue_audit_newest on catalogue_audit (occurred_at, audit_id);
create index catalogue_audit_of_caller on catalogue_audit (caller, occurred_at, audit_id);
create index catalogue_audit_of_target on catalogue_audit (target, occurred_at, audit_id);
