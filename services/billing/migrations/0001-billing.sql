-- What can be paid, and every bill payment, once for its key and for ever.

create table biller (
  biller_code text primary key check (biller_code ~ '^[A-Z0-9_]{1,64}$'),
  name text not null check (length(name) between 1 and 100),
  active boolean not null
);

create table product (
  biller_code text not null references biller,
  product_code text not null check (product_code ~ '^[A-Z0-9_]{1,64}$'),
  name text not null check (length(name) between 1 and 100),
  -- Of a form that takes linear time, see catalogue.ts.
  reference_pattern text not null,
  active boolean not null,
  primary key (biller_code, product_code)
);

create table product_range (
  biller_code text not null,
  product_code text not null,
  currency text not null,
  min_minor bigint not null,
  max_minor bigint not null,
  primary key (biller_code, product_code, currency),
  foreign key (biller_code, product_code) references product,
  constraint product_range_sound check (0 < min_minor and min_minor <= max_minor)
);

-- Who changed what, for ever.
create table catalogue_audit (
  audit_id uuid primary key default gen_random_uuid(),
  occurred_at timestamptz not null default clock_now(),
  caller text not null,
  request_id text,
  action text not null,
  target text not null,
  note text not null default ''
);

-- claimed: the key is taken, the first call runs. pending: accepted, the biller has not answered. review: nobody
-- answered, a person decides. succeeded, failed: the end.
create type bill_state as enum ('claimed', 'pending', 'review', 'succeeded', 'failed');
create type retry_category as enum ('RETRIABLE', 'NON_RETRIABLE', 'CONDITIONAL');

create table bill_payment (
  -- The back end knows the payment by it, and the ledger its hold. Clients never see it.
  bill_payment_id uuid primary key,
  project_id uuid not null,
  idempotency_key text not null,
  -- SHA-256 of the body as the client wrote it: tells a repeat from a conflict.
  request_fingerprint bytea not null,
  -- What clients know the payment by.
  transaction_id text not null,
  biller_code text not null,
  product_code text not null,
  customer_reference text not null,
  customer_mobile_number text not null,
  amount_minor bigint not null,
  currency text not null,
  external_reference text,
  client_receipt_id text,
  description text not null,
  other_data text not null,
  metadata_json text not null,
  state bill_state not null default 'claimed',
  receipt_id text,
  -- SHA-256 of the token in the link of its receipt. The token itself is derived again.
  link_token_hash bytea,
  failure_code text,
  retry_category retry_category,
  -- The back end's own reference, for our people.
  provider_reference text,
  -- Whoever has it in hand. An outcome is written by its holder alone.
  lease_token uuid,
  -- When the back end is to be asked next; null when it is not.
  next_time timestamptz,
  enquiries smallint not null default 0,
  -- When the ledger is to be told of the outcome next; null before there is one and once it knows.
  settle_time timestamptz,
  settle_attempts smallint not null default 0,
  review_time timestamptz,
  create_time timestamptz not null default clock_now(),
  end_time timestamptz,
  constraint bill_payment_key_once unique (project_id, idempotency_key),
  constraint bill_payment_transaction_once unique (project_id, transaction_id),
  constraint bill_payment_receipt_once unique (receipt_id),
  constraint bill_payment_link_once unique (link_token_hash),
  constraint bill_payment_sound check (
    amount_minor > 0
    and (state = 'succeeded') = (receipt_id is not null)
    and (state = 'failed') = (failure_code is not null)
    and (failure_code is null) = (retry_category is null)
    and (state in ('succeeded', 'failed')) = (end_time is not null)
    and (receipt_id is null) = (link_token_hash is null)
  )
) with (fillfactor = 85);

create index bill_payment_due on bill_payment (next_time) where next_time is not null;
create index bill_payment_unsettled on bill_payment (settle_time) where settle_time is not null;
create index bill_payment_review on bill_payment (review_time, bill_payment_id) where state = 'review';

create function guard_bill_payment() returns trigger language plpgsql as $$
begin
  if old.state in ('succeeded', 'failed') and (new.state, new.receipt_id, new.failure_code, new.retry_category,
      new.end_time, new.amount_minor, new.currency)
    is distinct from (old.state, old.receipt_id, old.failure_code, old.retry_category, old.end_time,
      old.amount_minor, old.currency) then
    raise exception 'a bill payment that ended never changes' using errcode = 'check_violation';
  end if;
  if old.state <> 'claimed' and new.state = 'claimed' then
    raise exception 'a bill payment is claimed once' using errcode = 'check_violation';
  end if;
  return new;
end
$$;
create trigger bill_payment_guard before update on bill_payment
  for each row execute function guard_bill_payment();

-- Only a claim that came to nothing is ever dropped.
create function keep_bill_payment() returns trigger language plpgsql as $$
begin
  if old.state <> 'claimed' then
    raise exception 'bill payments are kept for ever' using errcode = 'check_violation';
  end if;
  return old;
end
$$;
create trigger bill_payment_kept before delete on bill_payment
  for each row execute function keep_bill_payment();

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'check_violation';
end
$$;
create trigger catalogue_audit_append_only before update or delete or truncate on catalogue_audit
  for each statement execute function refuse_change();
create trigger bill_payment_no_truncate before truncate on bill_payment
  for each statement execute function refuse_change();
