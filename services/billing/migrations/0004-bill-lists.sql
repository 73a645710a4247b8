-- Pages of a project's bill payments, newest first. The state comes before the id, so that payments in a rare state are found
-- without reading the others; a page of all states merges one scan of each state. Ids grow with time.

create index bill_payment_of_project on bill_payment (project_id, state, bill_payment_id);
