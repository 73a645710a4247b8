// Begins, enquires about and ends attempts to pay. The provider is never called within a transaction.
import { Failure } from '#core/errors/errors.ts'
import { numberOf, paymentMethods, refusalReasons } from '#core/payment/words.ts'
import { ChargeOutcome } from '#gen/payweave/payments/v1/charge_report_pb.js'
import type { Database, Queryable } from '#platform/db/db.ts'
import { chargeReport } from '../api/report-messages.ts'
import type { Attempt, AttemptEnd, AttemptResult, Charge } from '../domain/payment.ts'
import type { ClaimedWork, NewWork } from '../domain/work.ts'
import { findAttempt, insertAttempt, lockCharge, updateAttempt } from '../store/payment-store.ts'
import { holdWork, insertWork } from '../store/work-store.ts'

const processing: AttemptResult = { outcome: 'processing', refusal: null }
const refused: AttemptResult = { outcome: 'refused', refusal: null }

/**
 * Stores an attempt before the provider is called, with the work that calls it, if any. Returns its charge when the attempt
 * is new and may be executed, otherwise its outcome: refused where the charge is closed or another attempt is open.
 * Rejects with CHARGE_NOT_FOUND, and with REFERENCE_CONFLICT when the attempt is one of another charge.
 */
export async function startAttempt(
  db: Database,
  chargeId: string,
  attemptId: string,
  work?: NewWork,
): Promise<AttemptResult & { charge?: Charge }> {
  // A repeat waits for no lock.
  const before = await findOf(chargeId, db, attemptId)
  if (before !== undefined) return before
  return db.transaction(async (tx) => {
    const charge = await lockCharge(tx, chargeId)
    if (charge === undefined) throw new Failure('CHARGE_NOT_FOUND', `no charge ${chargeId}`)
    const known = await findOf(chargeId, tx, attemptId)
    if (known !== undefined) return known
    const isPayable = charge.state === 'open' && !charge.isExpired
    if (isPayable && (await insertAttempt(tx, attemptId, chargeId, 'processing'))) {
      if (work !== undefined) await insertWork(tx, work)
      return { ...processing, charge }
    }
    await insertAttempt(tx, attemptId, chargeId, 'refused')
    // Unless an enquiry has called this id unknown since we looked.
    return (await findOf(chargeId, tx, attemptId)) ?? refused
  })
}

async function findOf(
  chargeId: string,
  db: Queryable,
  attemptId: string,
): Promise<Attempt | undefined> {
  const found = await findAttempt(db, attemptId)
  if (found === undefined || found.chargeId === null || found.chargeId === chargeId) return found
  throw new Failure('REFERENCE_CONFLICT', `attempt ${attemptId} is one of another charge`)
}

/** Finds an attempt. One that is unknown is stored as such, so that it is never executed. */
export async function enquireAttempt(db: Database, attemptId: string): Promise<Attempt> {
  await insertAttempt(db, attemptId, null, 'unknown')
  const found = await findAttempt(db, attemptId)
  return found ?? { outcome: 'unknown', refusal: null, chargeId: null, ageMs: 0 }
}

/**
 * Ends an attempt and owes Payweave the report, in one transaction; false when it had ended. A worker passes the work by which
 * it concluded that: rejects, and changes nothing, when another worker has claimed that work since.
 */
export function endAttempt(
  db: Database,
  attemptId: string,
  end: AttemptEnd,
  work?: ClaimedWork,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    if (work !== undefined) await holdWork(tx, work)
    const chargeId = await updateAttempt(tx, attemptId, end)
    if (chargeId === undefined) return false
    await insertWork(tx, chargeReport({ chargeId, attemptId, ...reportOf(end) }))
    return true
  })
}

function reportOf(end: AttemptEnd) {
  if (end.outcome === 'paid') {
    const { method } = end
    const paymentMethod = method === undefined ? 0 : numberOf(paymentMethods, method)
    return { outcome: ChargeOutcome.PAID, paymentMethod }
  }
  const refusalReason = end.refusal === null ? 0 : numberOf(refusalReasons, end.refusal)
  return { outcome: ChargeOutcome.REFUSED, refusalReason }
}
