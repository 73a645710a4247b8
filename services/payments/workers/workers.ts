// The background workers: expiry, payouts, attempts without an answer, counts of ended payments.
import type { Database } from '#platform/db/db.ts'
import { startRetention } from '#platform/events/retention.ts'
import { forEachOf, type Loop, startLoop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { Payment } from '../domain/payment.ts'
import { releasePayouts } from '../domain/payout.ts'
import { expire } from '../domain/request-end.ts'
import type { Transition } from '../domain/transition.ts'
import { change } from '../operations/change.ts'
import { notFound, type PaymentContext } from '../operations/payments.ts'
import { reportCharge } from '../operations/reports.ts'
import type { Connectors } from '../ports/backend.ts'
import { type AtConnectors, type Attempt, claimAttempts } from '../store/attempt-store.ts'
import { findDueToExpire, findDueToRelease } from '../store/due-payment-store.ts'
import type { ReadKey } from '../store/payment-store.ts'
import { deleteOldHours, rollUpEnds } from '../store/summary-store.ts'

const batchSize = 100
const width = 4
/** Ended payments that one statement adds to the counts of their hours. */
const rollUpBatch = 5_000

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

/** Sends payouts whose days of delay are over; a payout without delay was sent when its request was paid. */
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

/** Starts all changes at once, so that the batcher needs few transactions. */
async function changeAll(
  payments: PaymentContext,
  due: ReadKey[],
  decide: (payment: Payment, now: Date) => Transition | undefined,
): Promise<boolean> {
  let changed = 0
  await forEachOf(due, { width: batchSize, kind: 'payment', log: payments.log }, async (target) => {
    await change(payments, {
      target,
      absent: notFound,
      decide: ({ payment, now }) => ({ transition: decide(payment, now) }),
    })
    changed += 1
  })
  // A round that failed is not repeated at once.
  return due.length === batchSize && changed === batchSize
}

/** Enquires of connectors about attempts without a response. Each connector has its own loop, so a slow one delays no other. */
export function startEnquiries(payments: PaymentContext, connectors: Connectors): Loop[] {
  const { names, defaultName } = connectors
  const others = names.filter((name) => name !== defaultName)
  async function enquire({ attemptId, payerId, connector }: Attempt): Promise<void> {
    const answer = await connectors.of(connector).enquire(attemptId)
    if (answer.outcome === 'processing') return
    await reportCharge(payments, payerId, { attemptId, ...answer, paymentMethod: undefined })
  }

  const start = (at: AtConnectors) =>
    startLoop({
      kind: 'enquiries',
      log: payments.log,
      pauseMs: 250,
      idlePauseMs: 1_000,
      async round() {
        const attempts = await claimAttempts(payments.db, batchSize, at)
        await forEachOf(attempts, { width, kind: 'enquiry', log: payments.log }, enquire)
        return attempts.length === batchSize
      },
    })
  return [start({ except: others }), ...others.map((name) => start({ only: [name] }))]
}

/** Adds ended payments to the counts of their hours, and deletes counts that nobody reads any more. */
export function startCounts({ db, log }: { db: Database; log: Logger }): Loop[] {
  const rollUp = async () => (await rollUpEnds(db, rollUpBatch)) === rollUpBatch
  return [
    startLoop({ kind: 'counts', log, pauseMs: 1_000, idlePauseMs: 5_000, round: rollUp }),
    startRetention({ db, log, deleteOld: deleteOldHours }),
  ]
}
