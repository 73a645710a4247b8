// Sends money out: work that is repeated until Acme has accepted it.
import type { ConnectorContext } from '../../kit/connector.ts'
import type { Work } from '../../kit/domain/work.ts'
import { endCredit } from '../../kit/operations/credits.ts'
import { findCredit } from '../../kit/store/payment-store.ts'
import { Refused } from '../../kit/workers/worker.ts'
import type { Acme } from '../ports/acme.ts'

/** Kind of the work that sends a credit. */
export const creditKind = 'credit'

/** Sends a credit. One that Acme refuses has failed, which Payweave is owed a report of. */
export async function sendCredit(
  work: Work,
  { db, notify }: ConnectorContext,
  acme: Acme,
): Promise<void> {
  const { subject } = work
  const credit = await findCredit(db, subject)
  if (credit === undefined) throw new Refused(`no credit ${subject}`)
  try {
    await acme.credit(credit)
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    await endCredit(db, subject, 'failed', work)
    notify()
  }
}
