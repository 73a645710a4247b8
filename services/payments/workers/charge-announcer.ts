// Announces the charges of payments right after their commit, from memory: their tasks are inserted already leased to this
// process. A task that it does not complete is due for the worker when the lease expires.
import { type Loop, startLoop } from '#platform/process/loop.ts'
import type { Payer, Payment } from '../domain/payment.ts'
import { announcementOf } from '../operations/announce-charges.ts'
import { type ChargeRow, type ClaimedTask, markLater } from '../store/task-store.ts'
import { batchSize, runTasks, type TaskOptions } from './tasks.ts'

/** More than a second of the fastest writers; charges beyond it are left to the worker of tasks. */
const maxWaiting = 5_000
const pauseMs = 1_000
/** Gathered before a call: for each that the last one had, so long. One that comes alone is announced at once. */
const gatherMs = { each: 5, max: 100 }

/** Starts the loop. */
export function startChargeAnnouncer(options: TaskOptions): Pick<Loop, 'close'> & {
  /** Takes the charges of a payment after its commit. Never throws, never waits. */
  announce: (payment: Payment) => void
} {
  const waiting: ChargeRow[] = []
  let lastCount = 1

  async function round(): Promise<boolean> {
    const charges = waiting.splice(0, batchSize)
    lastCount = Math.max(1, charges.length)
    const byPayer = new Map(charges.map((charge) => [charge.payer_id, charge]))
    await runTasks(options, charges.map(taskOf), async (tasks) => {
      const some = tasks.flatMap(({ subject_id: id }) => byPayer.get(id) ?? [])
      const keys = options.linkKeys()
      await options.backend.announce(some.map((charge) => announcementOf(charge, keys)))
    })
    return waiting.length > 0
  }

  const loop = startLoop({
    kind: 'charge announcements',
    log: options.log,
    pauseMs,
    gatherMs: () => Math.min(gatherMs.max, gatherMs.each * lastCount),
    round,
  })
  return {
    announce(payment) {
      if (payment.state !== 'Pending' || waiting.length >= maxWaiting) return
      for (const payer of payment.payers) waiting.push(chargeOf(payment, payer))
      loop.notify()
    },
    async close() {
      await loop.close()
      const subjectIds = waiting.map((charge) => charge.payer_id)
      if (subjectIds.length === 0) return
      // Release them to other workers: waiting for a silent back end would delay the shutdown.
      await markLater(options.db, { kind: 'announce', subjectIds }).catch((error: unknown) => {
        // Otherwise other workers claim them when the lease expires.
        options.log.warn(
          { err: error, kind: 'charge announcements' },
          'charges left to the task worker',
        )
      })
    },
  }
}

function chargeOf({ currency, businessName }: Payment, payer: Payer): ChargeRow {
  return {
    payer_id: payer.payerId,
    amount_minor:
      payer.amountMinor +
      payer.feeMinor +
      payer.tipMinor +
      payer.taxMinor +
      payer.convenienceFeeMinor,
    currency,
    mobile_number_e164: payer.mobileNumberE164,
    payment_channel: payer.paymentChannel,
    business_name: businessName,
    expire_time: payer.expireTime,
    link_key_id: payer.linkKeyId,
  }
}

function taskOf({ payer_id }: ChargeRow): ClaimedTask {
  return { subject_id: payer_id, kind: 'announce', reason: null, attempts: 1 }
}
