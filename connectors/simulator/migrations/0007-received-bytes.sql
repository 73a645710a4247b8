-- What a kept request counts with against the quotas of its tag and of all tags.
alter table received add column bytes integer not null generated always as (
  octet_length(body) + octet_length(headers::text) + octet_length(path) + octet_length(tag)
) stored;
