-- A credit comes without its fee, which may be more than what is left of it. A debit has its fee within it. Rows of before fit.
alter table posting
  drop constraint posting_sound,
  add constraint posting_sound check (
    amount_minor <> 0 and fee_minor >= 0 and (amount_minor > 0 or fee_minor <= -amount_minor)
    and (internal is null) = (holder is not null) and (holder_id is null) = (holder is null)
  ) not valid;
