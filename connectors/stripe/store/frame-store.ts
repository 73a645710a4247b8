// Statements on card forms.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { Attempt, Charge } from '../../kit/domain/payment.ts'

/** A card form with its charge. */
export type CardFrame = Charge & {
  returnUrl: string
  /** The attempt that is in progress; null without one. */
  openAttemptId: string | null
}

const insertCardFrameStatement = sql(
  'insert_card_frame',
  `with old as (
     delete from card_frame where token_hash in (
       select token_hash from card_frame where opened_at < clock_now() - interval '30 days' limit 2)
   )
   insert into card_frame (token_hash, charge_id, return_url)
   select $1, charge_id, $3 from charge where charge_id = $2`,
)
/** Stores a card form; false when the charge is unknown. Deletes some that are older than any charge is open. */
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
  `select charge_id as "chargeId", state, coalesce(expire_at <= clock_now(), false) as "isExpired",
     currency, amount_minor as "amountMinor", mobile_number as "mobileNumber",
     business_name as "businessName", return_url as "returnUrl",
     (select attempt_id from attempt a where a.charge_id = charge.charge_id
      and a.outcome = 'processing') as "openAttemptId"
   from card_frame join charge using (charge_id) where token_hash = $1`,
)
/** Finds the card form of a token with its charge. Locks nothing. */
export function findCardFrame(db: Queryable, tokenHash: Buffer): Promise<CardFrame | undefined> {
  return db.row(findCardFrameStatement, [tokenHash])
}

const findFrameAttemptStatement = sql(
  'find_frame_attempt',
  `select outcome, attempt.refusal, coalesce(needs_action, false) as "needsAction", intent_id as "intentId"
   from attempt left join intent using (attempt_id) where attempt_id = $1 and charge_id = $2`,
)
/** Finds an attempt on the charge of a form. Locks nothing. */
export function findFrameAttempt(
  db: Queryable,
  attemptId: string,
  chargeId: string,
): Promise<
  | (Pick<Attempt, 'outcome' | 'refusal'> & { needsAction: boolean; intentId: string | null })
  | undefined
> {
  return db.row(findFrameAttemptStatement, [attemptId, chargeId])
}
