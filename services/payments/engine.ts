// Puts the parts of payments together and runs its workers; it must not read settings nor open connections.
import type { Registry } from 'prom-client'
import type { KeySource } from '#core/key-ring.ts'
import type { Database } from '#runtime/db.ts'
import type { EventInHand } from '#runtime/events/outbox.ts'
import type { Logger } from '#runtime/log.ts'
import type { Backend } from './backend.ts'
import { startCharges } from './charges-in-hand.ts'
import type { Checkouts } from './checkout.ts'
import { groupingReader, groupingStore } from './groups.ts'
import type { FindMerchant } from './merchants.ts'
import { paymentMetrics } from './metrics.ts'
import type { PaymentSettings, Payments } from './payments.ts'
import { taskBacklog } from './task-store.ts'
import { startTasks } from './tasks.ts'
import { startEnquiries, startExpiry, startPayouts } from './workers.ts'

/** What payments stands on. */
export type EngineOptions = {
  db: Database
  log: Logger
  metrics: Registry
  linkKeys: KeySource
  settings: PaymentSettings
  findMerchant: FindMerchant
  backend: Backend
  /** Carries an event on that was committed in hand. */
  carryEvent: (event: EventInHand) => void
}

/** Payments with its workers running. */
export type Engine = {
  payments: Payments
  checkouts: Checkouts
  /** Stops the workers, with the work in hand finished. */
  close(): Promise<void>
}

/** Starts the workers. */
export function startPayments(options: EngineOptions): Engine {
  const { db, log, backend, linkKeys, settings, findMerchant, carryEvent } = options
  const tasks = startTasks({ db, log, backend, linkKeys })
  const charges = startCharges({ db, log, backend, linkKeys })
  const payments: Payments = {
    db,
    storePayment: groupingStore(db),
    findPayment: groupingReader(db),
    log,
    linkKeys,
    settings,
    findMerchant,
    metrics: paymentMetrics(options.metrics, () => taskBacklog(db)),
    carry: carryEvent,
    announce: charges.announce,
    kick: tasks.kick,
  }
  const loops = [
    tasks,
    charges,
    startExpiry(payments),
    startPayouts(payments),
    startEnquiries(payments, backend),
  ]
  return {
    payments,
    checkouts: { payments, backend },
    async close() {
      await Promise.all(loops.map((loop) => loop.close()))
    },
  }
}
