-- What is asked of Stripe: a PaymentIntent for each attempt, a refund for each refund; and the card forms that are open.

create table intent (
  attempt_id uuid primary key references attempt,
  -- Stripe's id, once the PaymentIntent exists.
  intent_id text unique,
  -- Part of the idempotency keys: a new one after an answer 5xx, which Stripe repeats for the same key.
  round integer not null default 0,
  -- Written before each confirmation: from then on the card may be charged.
  confirmed_at timestamptz,
  -- The payer's bank wants an answer from them.
  needs_action boolean not null default false,
  -- Why the attempt is refused, a word of core/payment/words.ts: the intent is cancelled first.
  refusal text
);

create table refund (
  -- The credit of the kit.
  reference uuid primary key references credit,
  refund_id text unique,
  -- Part of the idempotency key.
  round integer not null default 0,
  -- When this key was first sent, and when last.
  key_at timestamptz,
  sent_at timestamptz,
  -- Stripe has answered this key with a failure, which it repeats.
  key_spent boolean not null default false,
  -- Code with which Stripe has refused it after a call that had no answer.
  refusal text
);

create table card_frame (
  token_hash bytea primary key,
  charge_id uuid not null references charge,
  return_url text not null,
  opened_at timestamptz not null default clock_now(),
  constraint card_frame_hash_is_sha256 check (octet_length(token_hash) = 32),
  constraint card_frame_return_sized check (length(return_url) between 1 and 2048)
);

create index card_frame_opened on card_frame (opened_at);
