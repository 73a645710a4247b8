// Statements on the PaymentIntents of attempts.
import type { RefusalReason } from '#core/payment/words.ts'
import { type Queryable, sql } from '#platform/db/db.ts'

/** A PaymentIntent as it is stored. */
export type StoredIntent = {
  intentId: string | null
  round: number
  isConfirmed: boolean
  refusal: RefusalReason | null
}

const columns = `intent_id as "intentId", round, confirmed_at is not null as "isConfirmed", refusal`
const findIntentStatement = sql(
  'find_intent',
  `with made as (
     insert into intent (attempt_id) values ($1) on conflict (attempt_id) do nothing returning *
   )
   select ${columns} from made union all select ${columns} from intent where attempt_id = $1`,
)
/** Finds what is stored of an attempt, which is made when it is first looked for. */
export async function findIntent(db: Queryable, attemptId: string): Promise<StoredIntent> {
  const row = await db.row<StoredIntent>(findIntentStatement, [attemptId])
  // Another worker is storing it: this work is tried again.
  if (row === undefined) throw new Error('the intent is being stored')
  return row
}

const recordIntentStatement = sql(
  'record_intent',
  `update intent set intent_id = coalesce(intent_id, $2) where attempt_id = $1`,
)
/** Records Stripe's id; the first one counts. */
export async function recordIntent(
  db: Queryable,
  attemptId: string,
  intentId: string,
): Promise<void> {
  await db.run(recordIntentStatement, [attemptId, intentId])
}

const recordConfirmedStatement = sql(
  'record_confirmed',
  `update intent set confirmed_at = case when $2 then clock_now() end where attempt_id = $1`,
)
/** Records that the confirmation is about to be sent, or that it must be sent again. */
export async function recordConfirmed(
  db: Queryable,
  attemptId: string,
  isConfirmed: boolean,
): Promise<void> {
  await db.run(recordConfirmedStatement, [attemptId, isConfirmed])
}

const recordIntentRefusalStatement = sql(
  'record_intent_refusal',
  `update intent set refusal = coalesce(refusal, $2) where attempt_id = $1`,
)
/** Records why the attempt is to be refused: from now on its intent is only cancelled. */
export async function recordIntentRefusal(
  db: Queryable,
  attemptId: string,
  refusal: RefusalReason,
): Promise<void> {
  await db.run(recordIntentRefusalStatement, [attemptId, refusal])
}

const recordActionStatement = sql(
  'record_action',
  `update intent set needs_action = $2 where attempt_id = $1 and needs_action <> $2`,
)
/** Records whether the payer's bank wants an answer from them. */
export async function recordAction(
  db: Queryable,
  attemptId: string,
  needsAction: boolean,
): Promise<void> {
  await db.run(recordActionStatement, [attemptId, needsAction])
}

const renewIntentKeyStatement = sql(
  'renew_intent_key',
  `update intent set round = round + 1 where attempt_id = $1`,
)
/** Has the next calls sent with other idempotency keys. */
export async function renewIntentKey(db: Queryable, attemptId: string): Promise<void> {
  await db.run(renewIntentKeyStatement, [attemptId])
}

const findPaidIntentStatement = sql(
  'find_paid_intent',
  `select intent_id as "intentId" from intent join attempt using (attempt_id)
   where charge_id = $1 and outcome = 'paid'`,
)
/** The PaymentIntent that has paid a charge; undefined when none has. */
export async function findPaidIntent(db: Queryable, chargeId: string): Promise<string | undefined> {
  return (await db.row<{ intentId: string }>(findPaidIntentStatement, [chargeId]))?.intentId
}
