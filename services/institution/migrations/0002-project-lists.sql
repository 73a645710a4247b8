-- Pages of a project's transactions, newest first. The state comes before the id, so that transactions in a rare state are
-- found without reading the others; a page of all states merges one scan of each state. Ids grow with time. Claims, which
-- are no transactions yet, are not in it.

create index transaction_of_project on transaction (project_id, state, movement_id)
  where create_time is not null;
