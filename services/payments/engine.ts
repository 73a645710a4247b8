// Puts the parts of payments together and runs its workers; it must not read settings nor open connections.
import type { Registry } from 'prom-client'
import type { Database } from '#runtime/db.ts'
import type { Logger } from '#runtime/log.ts'
import type { Backend } from './backend.ts'
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
  linkKey: Buffer
  settings: PaymentSettings
  findMerchant: FindMerchant
  backend: Backend
  /** Wakes the relay of the outbox. */
  kickOutbox: () => void
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
  const { db, log, backend, linkKey, settings, findMerchant, kickOutbox } = options
  const tasks = startTasks({ db, log, backend, linkKey })
  const payments: Payments = {
    db,
    storePayment: groupingStore(db),
    findPayment: groupingReader(db),
    log,
    linkKey,
    settings,
    findMerchant,
    metrics: paymentMetrics(options.metrics, () => taskBacklog(db)),
    kick() {
      kickOutbox()
      tasks.kick()
    },
  }
  const loops = [
    tasks,
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
