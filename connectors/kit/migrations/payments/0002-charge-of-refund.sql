-- The charge that a refund returns, which a rail that refunds a payment, not a number, must know.

alter table credit
  -- Null for a payout, and for a refund that was accepted before.
  add column charge_id uuid;
