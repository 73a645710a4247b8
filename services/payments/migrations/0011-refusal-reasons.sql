-- Why the back end refused an attempt. Rows from before have no reason, so there is nothing to validate.
alter table charge_report
  add column refusal_reason text,
  add constraint charge_report_refusal_known check (
    outcome = 'refused' and refusal_reason in ('declined', 'insufficient_funds', 'limit_exceeded',
      'wrong_credentials', 'invalid_details', 'not_permitted', 'not_confirmed', 'unavailable')
    or refusal_reason is null
  ) not valid;
