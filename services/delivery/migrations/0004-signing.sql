-- What a signed push needs beyond its body: who signs it and the sealed token that it carries. A table of
-- its own, because of many deliveries few are signed. Secrets never come here: they are asked for at each attempt.
create table signing (
  delivery_id uuid primary key references delivery on delete cascade,
  institution_id uuid not null,
  -- Ciphertext: the institution's shared key opens it.
  authorisation_token_sealed text not null,
  constraint signing_token_sized check (length(authorisation_token_sealed) between 44 and 1024)
);

alter table attempt drop constraint attempt_outcome_known;
alter table attempt add constraint attempt_outcome_known check (
  outcome in (
    'started', 'delivered', 'refused', 'timed_out', 'connection_failed', 'blocked', 'unknown', 'unsigned'
  )
);
