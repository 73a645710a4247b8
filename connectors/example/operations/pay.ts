// Tries wallets and ends attempts. Acme is never called within a transaction.
import { Failure } from '#core/errors/errors.ts'
import type { Database } from '#platform/db/db.ts'
import type { Attempt, AttemptOutcome, Charge } from '../domain/payment.ts'
import { type Acme, type DebitStatus, timeoutMs } from '../ports/acme.ts'
import { endAttempt, findAttempt, insertAttempt, lockCharge } from '../store/payment-store.ts'

/** A call to Acme that began longer ago has ended. */
const abandonedAfterMs = 2 * timeoutMs

export type PayContext = { db: Database; acme: Acme }

/** Tries a wallet once; a repeat returns what the first call came to. Rejects with CHARGE_NOT_FOUND. */
export async function payWithWallet(
  context: PayContext,
  chargeId: string,
  attemptId: string,
  pin: string,
): Promise<AttemptOutcome> {
  const { db, acme } = context
  // Stored before Acme is called: whatever happens then, an enquiry finds the attempt.
  const started = await startAttempt(db, chargeId, attemptId)
  if (started.charge === undefined) return started.outcome
  const { mobileNumber, currency, amountMinor } = started.charge
  const debit = { mobileNumber, pin, currency, amountMinor }
  // Without an answer the attempt stays in progress: a webhook or an enquiry ends it.
  const status = await acme.debit(attemptId, debit).catch(() => 'pending' as const)
  return await recordStatus(db, attemptId, status)
}

type Started = { outcome: AttemptOutcome; charge?: Charge | undefined }

function startAttempt(db: Database, chargeId: string, attemptId: string): Promise<Started> {
  return db.transaction(async (tx): Promise<Started> => {
    const charge = await lockCharge(tx, chargeId)
    if (charge === undefined) throw new Failure('CHARGE_NOT_FOUND', `no charge ${chargeId}`)
    const known = await findAttempt(tx, attemptId)
    if (known !== undefined) return { outcome: known.outcome }
    if (charge.state === 'open' && (await insertAttempt(tx, attemptId, chargeId, 'processing')))
      return { outcome: 'processing', charge }
    await insertAttempt(tx, attemptId, chargeId, 'refused')
    // Unless an enquiry has called this id unknown since we looked.
    return { outcome: (await findAttempt(tx, attemptId))?.outcome ?? 'refused' }
  })
}

/** The outcome of an attempt. One that is unknown, here or at Acme, is never executed. */
export async function enquire(context: PayContext, attemptId: string): Promise<AttemptOutcome> {
  const { db, acme } = context
  await insertAttempt(db, attemptId, null, 'unknown')
  const attempt = await findAttempt(db, attemptId)
  if (attempt === undefined || !isAbandoned(attempt)) return attempt?.outcome ?? 'unknown'
  return await recordStatus(db, attemptId, await acme.settleDebit(attemptId))
}

const isAbandoned = ({ outcome, ageMs }: Attempt) =>
  outcome === 'processing' && ageMs > abandonedAfterMs

async function recordStatus(
  db: Database,
  attemptId: string,
  status: DebitStatus,
): Promise<AttemptOutcome> {
  if (status === 'pending') return 'processing'
  await endAttempt(db, attemptId, status === 'paid' ? 'paid' : 'refused')
  return (await findAttempt(db, attemptId))?.outcome ?? 'processing'
}
