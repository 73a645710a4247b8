-- The account that a transfer goes to, so that the same id with another one is refused. Null in transfers of before.
alter table transfer add column credit_account_number text;
