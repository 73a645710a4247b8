// Sends money out: stored with the work that sends it, which is repeated until Acme has accepted it.
import { TransferOutcome } from '#gen/payweave/payments/v1/charge_report_pb.js'
import type { Database } from '#platform/db/db.ts'
import { payoutReport, refundReport } from '../../kit/api/report-messages.ts'
import type { ConnectorContext } from '../../kit/connector.ts'
import type { Work } from '../../kit/domain/work.ts'
import { insertWork } from '../../kit/store/work-store.ts'
import { Refused } from '../../kit/workers/worker.ts'
import type { Credit } from '../domain/payment.ts'
import type { Acme } from '../ports/acme.ts'
import { endCredit, findCredit, insertCredit } from '../store/payment-store.ts'

/** Kind of the work that sends a credit. */
export const creditKind = 'credit'

/** Accepts a credit; repeating it changes nothing. */
export async function acceptCredit(db: Database, credit: Credit): Promise<void> {
  const { reference } = credit
  await db.transaction(async (tx) => {
    if (!(await insertCredit(tx, credit))) return
    const payload = Buffer.alloc(0)
    await insertWork(tx, { kind: creditKind, key: reference, subject: reference, payload })
  })
}

/** Sends a credit. One that Acme refuses has failed, which Payweave is owed a report of. */
export async function sendCredit(
  { subject }: Work,
  { db, notify }: ConnectorContext,
  acme: Acme,
): Promise<void> {
  const credit = await findCredit(db, subject)
  if (credit === undefined) throw new Refused(`no credit ${subject}`)
  try {
    await acme.credit(credit)
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    const outcome = TransferOutcome.FAILED
    await db.transaction(async (tx) => {
      const kind = await endCredit(tx, subject, 'failed')
      if (kind === 'payout') await insertWork(tx, payoutReport({ payoutId: subject, outcome }))
      if (kind === 'refund') await insertWork(tx, refundReport({ refundId: subject, outcome }))
    })
    notify()
  }
}
