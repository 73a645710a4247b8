-- Administration by hand: requests that may be repeated, and lists of what there is and what was done.

-- A request that changed something under an id of the caller's choice, for ever: its repeat changes nothing.
create table access_request (
  request_id uuid primary key,
  -- SHA-256 of who asked for what: tells a repeat from a conflict.
  fingerprint bytea not null,
  target_id text not null default '',
  key_id text not null default '',
  create_time timestamptz not null default clock_now()
);

alter table access_audit add column details jsonb not null default '{}';
create index access_audit_newest on access_audit (occurred_at, audit_id);
create index access_audit_of_project on access_audit (project_id, occurred_at, audit_id);
revoke update, delete, truncate on access_audit from payweave_accounts;

create index subscription_key_newest on subscription_key (project_id, issued_at);
create index api_key_newest on api_key (project_id, merchant_id, issued_at);
