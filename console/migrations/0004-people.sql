-- A person is known by issuer and subject of the identity provider: https://id.example.com#00u1abc. Their address may change.

-- Empty where the provider has verified none. Null in a session that began before this migration, which is not read any more.
alter table session add column email text;
comment on column session.person is 'issuer#subject of the identity provider';

-- How to show a name of the records: the address and the name of its person at their last sign-in.
create table person (
  -- issuer#subject
  person text primary key,
  -- The address that the provider has verified; empty for none.
  email text not null,
  display_name text not null,
  sign_in_time timestamptz not null default clock_now()
);
create index person_of_email on person (lower(email)) where email <> '';
