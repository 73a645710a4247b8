-- Quotes: a price for a short time, the reservation of the movement that executes it, and what became of that.

create type quote_kind as enum ('transfer', 'institution');
create type quote_state as enum ('open', 'reserved', 'used');
create type quote_transaction_status as enum ('pending', 'completed', 'failed', 'cancelled');

create table quote (
  quote_id uuid not null,
  project_id uuid not null,
  institution_id uuid not null,
  institution_name text not null,
  -- The session's account.
  account_id uuid not null,
  kind quote_kind not null,
  requested_minor bigint not null,
  requested_currency text not null,
  quoted_minor bigint not null,
  quoted_currency text not null,
  -- Quoted units per requested unit, with all decimals that the source gave.
  rate numeric not null,
  rate_time timestamptz not null,
  -- Exact worth less quoted_minor, in quoted units, and what of it a ledger of whole minor units posts.
  residual numeric not null,
  rounding_minor bigint not null,
  -- Whole seconds, as clients are shown them.
  quote_time timestamptz not null,
  expire_time timestamptz not null,
  state quote_state not null default 'open',
  -- The movement that reserved or used it.
  movement_id uuid,
  reserve_time timestamptz,
  -- Movements that gave it back, or were given up before they reserved it: none of them gets it again.
  given_back uuid[] not null default '{}',
  use_time timestamptz,
  transaction_id text,
  institution_receipt_id text,
  transaction_status quote_transaction_status,
  primary key (project_id, quote_id),
  constraint quote_sound check (
    requested_minor > 0 and quoted_minor > 0 and rate > 0 and expire_time > quote_time
    and (state = 'open') = (movement_id is null)
    and (state = 'open') = (reserve_time is null)
    and (state = 'used') = (use_time is not null)
    and (state = 'used') = (transaction_id is not null)
    and (state = 'used') = (institution_receipt_id is not null)
    and (state = 'used') = (transaction_status is not null)
    -- Executed at most once, and never late.
    and (reserve_time is null or reserve_time < expire_time)
  )
) with (fillfactor = 85);

-- Reservations that wait for the end of their movement.
create index quote_reserved on quote (reserve_time) where state = 'reserved';

-- The machine of services/quotes/domain/quote.ts once more, so that no statement can leave it. A price is never changed.
create function guard_quote() returns trigger language plpgsql as $$
begin
  if (old.state, new.state) not in (
    ('open', 'reserved'), ('reserved', 'open'), ('reserved', 'used'),
    ('open', 'open'), ('reserved', 'reserved'), ('used', 'used')
  ) then
    raise exception 'a quote cannot go from % to %', old.state, new.state
      using errcode = 'check_violation', constraint = 'quote_transition';
  end if;
  if old.state <> 'open' and new.state <> 'open' and old.movement_id <> new.movement_id then
    raise exception 'a reserved quote cannot change hands'
      using errcode = 'check_violation', constraint = 'quote_transition';
  end if;
  if (new.requested_minor, new.requested_currency, new.quoted_minor, new.quoted_currency, new.rate,
      new.rounding_minor, new.quote_time, new.expire_time)
    is distinct from
     (old.requested_minor, old.requested_currency, old.quoted_minor, old.quoted_currency, old.rate,
      old.rounding_minor, old.quote_time, old.expire_time) then
    raise exception 'the terms of a quote cannot change'
      using errcode = 'check_violation', constraint = 'quote_terms';
  end if;
  return new;
end
$$;

create trigger quote_guard before update on quote for each row execute function guard_quote();
