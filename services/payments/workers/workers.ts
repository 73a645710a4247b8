// The background workers: expiry, payouts, attempts without an answer.

import { forEachOf, type Loop, startLoop } from '#platform/process/loop.ts'
import { releasePayouts } from '../domain/payout.ts'
import { expire } from '../domain/request-end.ts'
import { change, type Decide, type PaymentContext } from '../operations/payments.ts'
import { takeReport } from '../operations/reports.ts'
import type { Backend } from '../ports/backend.ts'
import { claimAttempts } from '../store/attempt-store.ts'
import { type DuePayment, findDueToExpire, findDueToRelease } from '../store/due-payment-store.ts'

const batchSize = 100
const width = 4

/** Expires requests of which a pending payer's time ran out. */
export function startExpiry(payments: PaymentContext): Loop {
  return startLoop({
    kind: 'expiry',
    log: payments.log,
    pauseMs: 200,
    idlePauseMs: 1_000,
    round: async () => changeAll(payments, await findDueToExpire(payments.db, batchSize), expire),
  })
}

/** Hands payouts over when the payees' money leaves hold. */
export function startPayouts(payments: PaymentContext): Loop {
  return startLoop({
    kind: 'payouts',
    log: payments.log,
    pauseMs: 200,
    idlePauseMs: 1_000,
    round: async () =>
      changeAll(payments, await findDueToRelease(payments.db, batchSize), releasePayouts),
  })
}

async function changeAll(
  payments: PaymentContext,
  due: DuePayment[],
  decide: Decide,
): Promise<boolean> {
  let changed = 0
  await forEachOf(due, { width, kind: 'payment', log: payments.log }, async (key) => {
    await change(payments, key, decide)
    changed += 1
  })
  // A round that failed is not repeated at once.
  return due.length === batchSize && changed === batchSize
}

/** Asks the back end for attempts of ours that it never answered. */
export function startEnquiries(payments: PaymentContext, backend: Backend): Loop {
  return startLoop({
    kind: 'enquiries',
    log: payments.log,
    pauseMs: 250,
    idlePauseMs: 1_000,
    async round() {
      const attempts = await claimAttempts(payments.db, batchSize)
      await forEachOf(attempts, { width, kind: 'enquiry', log: payments.log }, async (attempt) => {
        const { attemptId } = attempt
        const outcome = await backend.enquire(attemptId)
        if (outcome === 'processing') return
        await takeReport(payments, attempt, { attemptId, outcome, paymentMethod: undefined })
      })
      return attempts.length === batchSize
    },
  })
}
