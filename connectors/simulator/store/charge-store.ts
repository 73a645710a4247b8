// Statements on charges, plans and card frames.

import { type ArrayType, arrayParameter } from '#platform/db/arrays.ts'
import { type Queryable, sql } from '#platform/db/db.ts'
import type { NewCharge, Payability, WithdrawReason } from '../domain/charge.ts'
import type { Behaviour } from '../domain/people.ts'

/** A charge with what people and forms need of it. */
export type StoredCharge = Payability & {
  chargeId: string
  currency: string | null
  amountMinor: bigint | null
  businessName: string | null
}

const chargeColumns = `charge_id as "chargeId", state, announced_at is not null as "isAnnounced",
  coalesce(expire_time <= clock_now(), false) as "isExpired", currency,
  amount_minor as "amountMinor", business_name as "businessName"`

// Payments gathers the charges of one call for 40 ms. Their payers act 10 ms apart, as they would have if each had been announced alone.
const announceChargesStatement = sql(
  'announce_charges',
  `insert into charge as c (charge_id, state, announced_at, currency, amount_minor, mobile_number,
     channel, business_name, cash_code, expire_time, act, act_starts, act_every_ms, acts_left, act_at)
   select g.charge_id, 'open', clock_now(), g.currency, g.amount_minor, g.mobile_number, g.channel,
     g.business_name, nullif(g.cash_code, ''), g.expire_time, g.act, g.act_starts, g.act_every_ms,
     coalesce(g.acts_left, 0),
     case when g.act_starts = 'announced'
       then clock_now() + (g.act_every_ms + (g.n - 1) % 4 * 10) * interval '1 millisecond' end
   from unnest($1::uuid[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[],
       $8::timestamptz[], $9::text[], $10::text[], $11::integer[], $12::smallint[])
     with ordinality as g (charge_id, currency, amount_minor, mobile_number, channel, business_name,
       cash_code, expire_time, act, act_starts, act_every_ms, acts_left, n)
   on conflict (charge_id) do update set announced_at = excluded.announced_at,
     currency = excluded.currency, amount_minor = excluded.amount_minor,
     mobile_number = excluded.mobile_number, channel = excluded.channel,
     business_name = excluded.business_name, cash_code = excluded.cash_code,
     expire_time = excluded.expire_time, act = excluded.act, act_starts = excluded.act_starts,
     act_every_ms = excluded.act_every_ms, acts_left = excluded.acts_left,
     act_at = case when excluded.act_starts = 'cancelled' and c.withdraw_reason = 'cancelled'
       then clock_now() + excluded.act_every_ms * interval '1 millisecond' end
   where c.announced_at is null`,
)
/** A new charge with what its person will do. */
export type Announced = NewCharge & { behaviour: Behaviour | undefined }

/** Stores new charges with what their people will do; the ids must differ. Known charges stay as they are. */
export async function insertCharges(db: Queryable, charges: Announced[]): Promise<void> {
  const of = (type: ArrayType, read: (charge: Announced) => unknown) =>
    arrayParameter(type, charges.map(read))
  await db.run(announceChargesStatement, [
    of('uuid', (charge) => charge.chargeId),
    of('text', (charge) => charge.currency),
    of('bigint', (charge) => charge.amountMinor),
    of('text', (charge) => charge.mobileNumber),
    of('text', (charge) => charge.channel),
    of('text', (charge) => charge.businessName),
    of('text', (charge) => charge.cashCode),
    of('timestamptz', (charge) => charge.expireTime),
    of('text', (charge) => charge.behaviour?.act),
    of('text', (charge) => charge.behaviour?.starts),
    of('integer', (charge) => charge.behaviour?.everyMs),
    of('smallint', (charge) => charge.behaviour?.times),
  ])
}

const withdrawChargesStatement = sql(
  'withdraw_charges',
  `insert into charge as c (charge_id, state, withdraw_reason)
   select g.charge_id, 'withdrawn', g.reason from unnest($1::uuid[], $2::text[]) as g (charge_id, reason)
   on conflict (charge_id) do update set state = 'withdrawn',
     withdraw_reason = excluded.withdraw_reason,
     act_at = case when c.act_starts = 'cancelled' and excluded.withdraw_reason = 'cancelled'
       then clock_now() + c.act_every_ms * interval '1 millisecond' end
   where c.state = 'open'`,
)
/** Withdraws open charges and remembers unknown ones; the ids must differ. Locks the rows. */
export async function withdrawCharges(
  db: Queryable,
  withdrawals: { chargeId: string; reason: WithdrawReason }[],
): Promise<void> {
  await db.run(withdrawChargesStatement, [
    withdrawals.map(({ chargeId }) => chargeId),
    withdrawals.map(({ reason }) => reason),
  ])
}

const lockChargeStatement = sql(
  'lock_charge',
  `select ${chargeColumns} from charge where charge_id = $1 for update`,
)
/** Reads a charge and locks its row, so that attempts on it come one at a time. */
export function lockCharge(tx: Queryable, chargeId: string): Promise<StoredCharge | undefined> {
  return tx.row(lockChargeStatement, [chargeId])
}

const findCashChargeStatement = sql(
  'find_cash_charge',
  `select ${chargeColumns} from charge where cash_code = $1 and channel = 'agent'
   order by state = 'open' desc, announced_at desc limit 1`,
)
/** Finds the charge of a cash code, an open one first. Locks nothing. */
export function findCashCharge(db: Queryable, cashCode: string): Promise<StoredCharge | undefined> {
  return db.row(findCashChargeStatement, [cashCode])
}

/** A charge whose person acts now. */
export type DueCharge = Payability & {
  chargeId: string
  act: 'pay' | 'refuse'
  actStarts: 'announced' | 'cancelled'
  actsLeft: number
}

const claimDueChargesStatement = sql(
  'claim_due_charges',
  `select charge_id as "chargeId", state, true as "isAnnounced",
     expire_time <= clock_now() as "isExpired", act, act_starts as "actStarts",
     acts_left as "actsLeft"
   from charge where act_at <= clock_now() order by act_at limit $1 for update skip locked`,
)
/** Takes charges whose planned act is due. Locks their rows until the transaction ends. */
export function claimDueCharges(tx: Queryable, limit: number): Promise<DueCharge[]> {
  return tx.rows(claimDueChargesStatement, [limit])
}

const waitForNextActStatement = sql(
  'wait_for_next_act',
  `select greatest(0, ceil(extract(epoch from act_at - clock_now()) * 1000))::int as "waitMs"
   from charge where act_at is not null and act_at < clock_now() + interval '1 hour'
   order by act_at limit 1`,
)
/** Milliseconds until the next planned act; undefined when none is near. */
export async function waitForNextAct(db: Queryable): Promise<number | undefined> {
  return (await db.row<{ waitMs: number }>(waitForNextActStatement, []))?.waitMs
}

const advancePlansStatement = sql(
  'advance_plans',
  `update charge c set acts_left = g.acts_left,
     act_at = case when g.acts_left > 0
       then c.act_at + c.act_every_ms * interval '1 millisecond' end
   from unnest($1::uuid[], $2::smallint[]) as g (charge_id, acts_left)
   where c.charge_id = g.charge_id`,
)
/** Plans the next act of charges that the caller has locked, or none. */
export async function advancePlans(
  tx: Queryable,
  plans: { chargeId: string; actsLeft: number }[],
): Promise<void> {
  await tx.run(advancePlansStatement, [
    plans.map(({ chargeId }) => chargeId),
    plans.map(({ actsLeft }) => actsLeft),
  ])
}

/** A card form with the charge that it pays. */
export type CardFrame = StoredCharge & { returnUrl: string; now: Date }

const insertCardFrameStatement = sql(
  'insert_card_frame',
  `insert into card_frame (token_hash, charge_id, return_url)
   select $1, charge_id, $3 from charge where charge_id = $2`,
)
/** Stores a card form; false when the charge is unknown. */
export async function insertCardFrame(
  db: Queryable,
  tokenHash: Buffer,
  chargeId: string,
  returnUrl: string,
): Promise<boolean> {
  return (await db.run(insertCardFrameStatement, [tokenHash, chargeId, returnUrl])) === 1
}

const findCardFrameStatement = sql(
  'find_card_frame',
  `select ${chargeColumns}, return_url as "returnUrl", clock_now() as now
   from card_frame join charge using (charge_id) where token_hash = $1`,
)
/** Finds the card form of a token with its charge. Locks nothing. */
export function findCardFrame(db: Queryable, tokenHash: Buffer): Promise<CardFrame | undefined> {
  return db.row(findCardFrameStatement, [tokenHash])
}

const deleteOldCardFramesStatement = sql(
  'delete_old_card_frames',
  `delete from card_frame where token_hash in (
     select token_hash from card_frame where opened_at < clock_now() - interval '7 days' limit $1)`,
)
/** Deletes card forms that were opened long ago; returns how many. */
export function deleteOldCardFrames(db: Queryable, limit: number): Promise<number> {
  return db.run(deleteOldCardFramesStatement, [limit])
}
