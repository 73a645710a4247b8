// Asks a payer for money by a request to pay, and ends the attempt as MTN says.
import type { ConnectorContext } from '../../kit/connector.ts'
import type { Work } from '../../kit/domain/work.ts'
import { endAttempt } from '../../kit/operations/attempts.ts'
import { findAttempt, findCharge } from '../../kit/store/payment-store.ts'
import { refusalOf } from '../domain/reasons.ts'
import { sendWithinMs } from '../domain/request.ts'
import type { MomoAccount } from './account.ts'
import { advance } from './advance.ts'

/** Kind of the work that collects; its subject is the attempt. */
export const collectKind = 'momo.collect'

/** Moves an attempt on until it has ended. */
export async function collect(
  work: Work,
  { db, notify }: ConnectorContext,
  { momo, currency }: MomoAccount,
): Promise<void> {
  const { subject: attemptId } = work
  const attempt = await findAttempt(db, attemptId)
  if (attempt?.outcome !== 'processing' || attempt.chargeId === null) return
  const charge = await findCharge(db, attempt.chargeId)
  if (charge === undefined) return
  if (charge.currency !== currency) {
    await endAttempt(db, attemptId, { outcome: 'refused', refusal: 'not_permitted' }, work)
    notify()
    return
  }
  const { ageMs } = attempt
  const isPayable = charge.state === 'open' && !charge.isExpired
  const { failure } = await advance({ db, momo, work }, 'collection', {
    ...charge,
    externalId: attemptId,
    name: charge.businessName,
    ageMs,
    isWanted: isPayable && ageMs < sendWithinMs,
  })
  const end =
    failure === undefined
      ? ({ outcome: 'paid' } as const)
      : ({ outcome: 'refused', refusal: refusalOf(failure) } as const)
  await endAttempt(db, attemptId, end, work)
  notify()
}
