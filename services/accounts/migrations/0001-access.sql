-- Who may use the API: projects, merchants, keys, institutions, grants and an audit of changes.

create table project (
  project_id uuid primary key,
  environment text not null check (environment in ('sandbox', 'production')),
  name text not null check (length(name) between 1 and 100),
  account_access boolean not null,
  allowed_ips text[] not null default '{}',
  created_at timestamptz not null default clock_now(),
  unique (environment, name)
);

create table subscription_key (
  key_id uuid primary key,
  project_id uuid not null references project,
  digest bytea not null unique check (length(digest) = 32),
  issued_at timestamptz not null default clock_now(),
  revoked_at timestamptz
);
create index subscription_key_active on subscription_key (project_id) where revoked_at is null;

create table merchant (
  project_id uuid not null references project,
  merchant_id uuid not null,
  business_name text not null check (length(business_name) between 1 and 100),
  mobile_number text not null check (mobile_number ~ '^\+[1-9][0-9]{6,14}$'),
  created_at timestamptz not null default clock_now(),
  primary key (project_id, merchant_id)
);

create table api_key (
  key_id uuid primary key,
  project_id uuid not null,
  merchant_id uuid not null,
  digest bytea not null unique check (length(digest) = 32),
  issued_at timestamptz not null default clock_now(),
  revoked_at timestamptz,
  foreign key (project_id, merchant_id) references merchant
);

create table institution (
  institution_id uuid primary key,
  environment text not null check (environment in ('sandbox', 'production')),
  name text not null check (length(name) between 1 and 100),
  created_at timestamptz not null default clock_now(),
  unique (environment, name)
);

-- Both secrets are sealed under the service's own key: a copy of this table opens nothing.
create table institution_key (
  key_id text primary key check (key_id ~ '^[0-9a-f]{8}$'),
  institution_id uuid not null references institution,
  shared_key_sealed text not null,
  signing_secret_sealed text not null,
  issued_at timestamptz not null default clock_now(),
  retired_at timestamptz
);
create index institution_key_live on institution_key (institution_id) where retired_at is null;

create table endpoint_grant (
  project_id uuid not null references project,
  institution_id uuid not null references institution,
  endpoint text not null,
  granted_at timestamptz not null default clock_now(),
  primary key (project_id, institution_id, endpoint)
);

create table access_audit (
  audit_id uuid primary key default gen_random_uuid(),
  occurred_at timestamptz not null default clock_now(),
  caller text not null,
  request_id text,
  action text not null,
  project_id uuid,
  target_id text not null
);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = '23514';
end $$;
create trigger access_audit_append_only before update or delete or truncate on access_audit
  for each statement execute function refuse_change();
