// Pays a charge by wallet, card or cash, one attempt at a time.

import { Failure } from '#core/errors/errors.ts'
import { randomId } from '#core/identity/id.ts'
import type { Database, Queryable } from '#platform/db/db.ts'
import {
  type ClosedReason,
  closedReason,
  decideAttempt,
  type Refusal,
  type Verdict,
  weighPin,
} from '../domain/charge.ts'
import {
  type Attempt,
  advanceCharges,
  type ChargeAdvance,
  findAttempt,
  insertAttempts,
  insertUnknownAttempt,
  type NewAttempt,
} from '../store/attempt-store.ts'
import { lockCharge, type StoredCharge } from '../store/charge-store.ts'

/** Dependencies of a payment method. */
export type PayContext = {
  db: Database
  /** Called when a report to payments is due. */
  reportsWritten: () => void
}

/** An attempt to pay one charge, whose means have been weighed. */
type Try = {
  chargeId: string
  attemptId: string
  source: NewAttempt['source']
  means: Verdict
  paymentMethod?: 'card'
  /** Whether payments learns the outcome by reports; a wallet's outcome is the answer to its call. */
  isReported: boolean
}

/** Outcome of an attempt. `unknown`: its id was reported as unknown before, so it is never executed. */
export type Outcome =
  | { outcome: 'paid' }
  | { outcome: 'refused'; refusal: Refusal }
  | { outcome: 'unknown' }

function outcomeOf({ outcome, refusal }: Attempt): Outcome {
  if (outcome !== 'refused') return { outcome }
  return { outcome, refusal: refusal ?? 'declined' }
}

/** Tries a wallet. The same attempt answers the same for ever. */
export async function payWithWallet(
  { db }: PayContext,
  chargeId: string,
  attemptId: string,
  pin: string,
): Promise<Outcome> {
  const attempt: Try = {
    chargeId,
    attemptId,
    source: 'wallet',
    means: weighPin(pin),
    isReported: false,
  }
  return await db.transaction(async (tx) => {
    const charge = await lockKnownCharge(tx, chargeId)
    return (await earlierOutcome(tx, attempt)) ?? (await execute(tx, charge, attempt))
  })
}

/** Returns the outcome of an attempt; an unknown one is refused from now on. */
export async function enquire(db: Database, attemptId: string): Promise<Outcome> {
  const known = await findAttempt(db, attemptId)
  if (known !== undefined) return outcomeOf(known)
  await insertUnknownAttempt(db, attemptId)
  const now = await findAttempt(db, attemptId)
  return now === undefined ? { outcome: 'unknown' } : outcomeOf(now)
}

/** What a form's submission comes to: an attempt, or none because the charge is closed. */
export type FormOutcome = Outcome | { outcome: 'closed'; reason: ClosedReason }

/** Pays by the card form. Submitting the same form again shows the same outcome. */
export function payByCard(
  context: PayContext,
  chargeId: string,
  attemptId: string,
  means: Verdict,
): Promise<FormOutcome> {
  return payByForm(context, {
    chargeId,
    attemptId,
    source: 'card',
    means,
    paymentMethod: 'card',
    isReported: true,
  })
}

/** Records that an agent has taken the payer's money. */
export function collectAtAgent(context: PayContext, chargeId: string): Promise<FormOutcome> {
  return payByForm(context, {
    chargeId,
    attemptId: randomId(),
    source: 'agent',
    means: { outcome: 'paid' },
    isReported: true,
  })
}

async function payByForm(context: PayContext, attempt: Try): Promise<FormOutcome> {
  const result = await context.db.transaction(async (tx): Promise<FormOutcome> => {
    const charge = await lockKnownCharge(tx, attempt.chargeId)
    const earlier = await earlierOutcome(tx, attempt)
    if (earlier !== undefined) return earlier
    const reason = closedReason(charge)
    if (reason !== undefined) return { outcome: 'closed', reason }
    return await execute(tx, charge, attempt)
  })
  context.reportsWritten()
  return result
}

async function lockKnownCharge(tx: Queryable, chargeId: string): Promise<StoredCharge> {
  const charge = await lockCharge(tx, chargeId)
  if (charge === undefined) throw new Failure('CHARGE_NOT_FOUND', `no charge ${chargeId}`)
  return charge
}

async function earlierOutcome(
  tx: Queryable,
  { attemptId, chargeId }: Pick<Try, 'attemptId' | 'chargeId'>,
): Promise<Outcome | undefined> {
  const attempt = await findAttempt(tx, attemptId)
  if (attempt === undefined) return undefined
  if (attempt.chargeId !== null && attempt.chargeId !== chargeId) {
    throw new Failure('REFERENCE_CONFLICT', `attempt ${attemptId} is one of another charge`)
  }
  return outcomeOf(attempt)
}

async function execute(tx: Queryable, charge: StoredCharge, attempt: Try): Promise<Outcome> {
  const { chargeId, attemptId, source } = attempt
  const verdict = decideAttempt(charge, attempt.means)
  const row = { chargeId, attemptId, source, ...verdict, refusal: verdict.refusal ?? null }
  if ((await insertAttempts(tx, [row])) === 0) {
    // An enquiry called this very id unknown since we looked.
    return (await earlierOutcome(tx, attempt)) ?? { outcome: 'unknown' }
  }
  const advance: ChargeAdvance = {
    chargeId,
    attemptId,
    outcome: verdict.outcome,
    reports: attempt.isReported ? ['processing', verdict.outcome] : [],
  }
  if (attempt.paymentMethod !== undefined) advance.paymentMethod = attempt.paymentMethod
  await advanceCharges(tx, [advance])
  return verdict
}
