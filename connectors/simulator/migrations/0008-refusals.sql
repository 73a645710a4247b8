-- More refusals of a card or wallet. Rows from before have one of the first five, so there is nothing to validate.
alter table attempt
  drop constraint attempt_refusal_known,
  add constraint attempt_refusal_known check (
    refusal in ('declined', 'insufficient_funds', 'limit_exceeded', 'wrong_credentials',
      'invalid_details', 'not_permitted', 'not_confirmed', 'unavailable', 'already_paid',
      'withdrawn', 'expired')
  ) not valid;
