-- A credit party whose fee is the whole amount receives nothing.
alter table transfer drop constraint transfer_amounts_positive,
  add constraint transfer_amounts_known check (debit_minor > 0 and credit_minor >= 0);
alter table execution drop constraint execution_amount_positive,
  add constraint execution_amount_known
    check (amount_minor > 0 or (amount_minor = 0 and kind = 'transfer'));
