// Tries wallets and ends attempts. Acme is never called within a transaction.
import type { Database } from '#platform/db/db.ts'
import type { AttemptResult } from '../../kit/domain/payment.ts'
import { endAttempt, enquireAttempt, startAttempt } from '../../kit/operations/attempts.ts'
import { findAttempt } from '../../kit/store/payment-store.ts'
import { endOfDebit } from '../domain/status.ts'
import { type Acme, timeoutMs } from '../ports/acme.ts'

/** A call to Acme that began longer ago has ended. */
const abandonedAfterMs = 2 * timeoutMs

export type PayContext = { db: Database; acme: Acme }

/** Tries a wallet once; a repeat returns what the first call came to. Rejects with CHARGE_NOT_FOUND. */
export async function payWithWallet(
  context: PayContext,
  chargeId: string,
  attemptId: string,
  pin: string,
): Promise<AttemptResult> {
  const { db, acme } = context
  // Stored before Acme is called, so that an enquiry finds the attempt even if the call fails.
  const started = await startAttempt(db, chargeId, attemptId)
  if (started.charge === undefined) return started
  const { mobileNumber, currency, amountMinor } = started.charge
  const debit = { mobileNumber, pin, currency, amountMinor }
  // Without an answer the attempt stays in progress: a webhook or an enquiry ends it.
  const status = await acme.debit(attemptId, debit).catch(() => 'pending')
  return await recordStatus(db, attemptId, status)
}

/** The outcome of an attempt. One that is unknown, here or at Acme, is never executed. */
export async function enquire(context: PayContext, attemptId: string): Promise<AttemptResult> {
  const { db, acme } = context
  const attempt = await enquireAttempt(db, attemptId)
  const isAbandoned = attempt.outcome === 'processing' && attempt.ageMs > abandonedAfterMs
  if (!isAbandoned) return attempt
  return await recordStatus(db, attemptId, await acme.settleDebit(attemptId))
}

async function recordStatus(
  db: Database,
  attemptId: string,
  status: string,
): Promise<AttemptResult> {
  const processing = { outcome: 'processing', refusal: null } as const
  const end = endOfDebit(status)
  if (end === undefined) return processing
  await endAttempt(db, attemptId, end)
  return (await findAttempt(db, attemptId)) ?? processing
}
