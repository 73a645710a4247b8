-- Queries and bodies in the API log are stored by batch: what is written with every request is small, and few of them are ever read.

-- Rows from before have query, request_body and response_body of their own.
alter table api_request
  -- Compressed queries and bodies of the requests of this project that were recorded together, in the row of the first.
  add column contents bytea,
  -- That row, and the place of this request's lines in its contents, from 0.
  add column contents_entry_id uuid,
  add column place smallint;
