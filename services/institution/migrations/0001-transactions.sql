-- Transactions on accounts of institutions: claimed, then accepted, then ended; each once.
--
-- A claimed row is a request that is being carried out: it is not a transaction yet, and is deleted when the
-- request is refused. Whoever works on a row holds its lease: `lease_token` fences every write, and `next_time`
-- is when somebody else may take it over.

create type transaction_type as enum ('p2p', 'inttransfer', 'deposit', 'cashout');
create type transaction_state as enum ('claimed', 'pending', 'completed', 'failed', 'cancelled');

create table transaction (
  -- Also the id of the movement in accounts and of the transfer at the back end.
  movement_id uuid primary key,
  project_id uuid not null,
  institution_id uuid not null,
  institution_name text not null,
  -- The client's own id.
  transaction_id text not null,
  receipt_id text not null,
  -- SHA-256 over the request as the client wrote it and the hash of its token: tells a repeat from a conflict.
  request_fingerprint bytea not null,
  type transaction_type not null,
  state transaction_state not null default 'claimed',
  -- What the credit side gets and what the debit side pays, each before the fees that it pays.
  amount_minor bigint not null,
  currency char(3) not null,
  sender_amount_minor bigint not null,
  sender_currency char(3) not null,
  -- In the sender's currency, but for what the recipient pays.
  fee_total_minor bigint not null,
  fee_convenience_minor bigint not null,
  fee_sender_pays_minor bigint not null,
  fee_recipient_pays_minor bigint not null,
  -- As the client sent it.
  quote_id text,
  -- Known once the quote is reserved: until when the movement may begin, and what rounding goes to fx_rounding.
  quote_expire_time timestamptz,
  rounding_minor bigint not null default 0,
  rounding_currency char(3),
  -- The state that the quotes service was told last.
  quote_told transaction_state,
  description text not null,
  -- The sides that are accounts of ours.
  debit_account_id uuid,
  credit_account_id uuid,
  -- E.164, of the account where it is ours; empty when not known.
  debit_mobile_number text not null,
  credit_mobile_number text not null,
  -- Parties, facts about them and what the transfer is for, as the back end is told.
  described jsonb not null,
  -- What is begun with it; kept so that a repeated call says the same.
  session_token_hash bytea not null,
  limit_account_id uuid not null,
  limit_minor bigint not null,
  limit_currency char(3) not null,
  hold_expire_time timestamptz,
  -- Set once accepted.
  create_time timestamptz,
  -- Until when a pending transfer is waited for.
  deadline timestamptz,
  end_time timestamptz,
  -- When the back end confirmed that it has the transfer.
  told_time timestamptz,
  -- How it ended at the back end; the first one stands.
  outcome transaction_state,
  outcome_reason text,
  enquiries smallint not null default 0,
  -- Refused, and only the quote is still to be given back before the row goes.
  is_refused boolean not null default false,
  lease_token uuid,
  -- Takes since the last progress; above zero says that an earlier hand may have got somewhere.
  attempts integer not null default 0,
  -- When there is something to do; null when there is nothing.
  next_time timestamptz,
  claim_time timestamptz not null,
  constraint transaction_once unique (project_id, transaction_id, institution_id),
  constraint transaction_receipt_once unique (receipt_id),
  constraint transaction_sound check (
    amount_minor > 0 and sender_amount_minor > 0 and fee_total_minor >= 0
    and fee_convenience_minor >= 0 and fee_sender_pays_minor >= 0
    and fee_recipient_pays_minor between 0 and amount_minor and limit_minor > 0
    and (state = 'claimed') = (create_time is null)
    and (state in ('claimed', 'pending')) = (end_time is null)
    and (outcome is null or outcome in ('completed', 'failed', 'cancelled'))
    and (debit_account_id is not null or credit_account_id is not null)
    and (type <> 'p2p' or (debit_account_id is not null and credit_account_id is not null))
  )
) with (fillfactor = 80);

-- Rows leave it when they have nothing more to do, so that its size is that of the work at hand.
create index transaction_due on transaction (next_time) where next_time is not null;
create index transaction_debit_history
  on transaction (project_id, debit_mobile_number, create_time desc, movement_id desc)
  where create_time is not null;
create index transaction_credit_history
  on transaction (project_id, credit_mobile_number, create_time desc, movement_id desc)
  where create_time is not null;

-- The machine of services/institution/domain/transaction.ts once more, so that no statement can leave it.
create function guard_transaction_transition() returns trigger language plpgsql as $$
begin
  if (old.state, new.state) in (
    ('claimed', 'pending'), ('claimed', 'completed'), ('pending', 'completed'),
    ('pending', 'failed'), ('pending', 'cancelled')
  ) then
    return new;
  end if;
  raise exception 'a transaction cannot go from % to %', old.state, new.state
    using errcode = 'check_violation', constraint = 'transaction_transition';
end
$$;

create trigger transaction_transition before update of state on transaction
  for each row when (old.state <> new.state) execute function guard_transaction_transition();

-- Only a claim may go: a transaction stays for ever.
create function guard_transaction_deletion() returns trigger language plpgsql as $$
begin
  raise exception 'an accepted transaction cannot be deleted'
    using errcode = 'check_violation', constraint = 'transaction_deletion';
end
$$;

create trigger transaction_deletion before delete on transaction
  for each row when (old.state <> 'claimed') execute function guard_transaction_deletion();
