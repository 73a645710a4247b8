-- A refusal that does not end a request yet, because an earlier call had no answer.

alter table request
  -- Code with which MTN has refused a call after such a one: from then on it is only enquired about.
  add column refusal text;
