// Wires the parts of payments and runs its workers.
import type { Registry } from 'prom-client'
import type { KeySource } from '#core/identity/key-ring.ts'
import type { Database } from '#platform/db/db.ts'
import type { CommittedEvent } from '#platform/events/outbox.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { paymentMetrics } from './metrics.ts'
import { batchingChanger } from './operations/change.ts'
import type { CheckoutContext } from './operations/checkout.ts'
import {
  batchingReader,
  batchingStore,
  type PaymentContext,
  type PaymentSettings,
} from './operations/payments.ts'
import type { Backend } from './ports/backend.ts'
import type { FindMerchant } from './ports/merchants.ts'
import { oldestUnreportedRefundS } from './store/refund-store.ts'
import { taskBacklog } from './store/task-store.ts'
import { callMaker } from './workers/calls.ts'
import { startDirectCalls } from './workers/direct-calls.ts'
import { startTasks } from './workers/tasks.ts'
import { startCounts, startEnquiries, startExpiry, startPayouts } from './workers/workers.ts'

/** What payments stands on. */
export type EngineOptions = {
  db: Database
  log: Logger
  metrics: Registry
  linkKeys: KeySource
  settings: PaymentSettings
  findMerchant: FindMerchant
  backend: Backend
  /** Publishes a committed event directly. */
  publishEvent: (event: CommittedEvent) => void
}

/** Payments with its workers running. */
export type Engine = {
  payments: PaymentContext
  checkouts: CheckoutContext
  /** Stops the workers after their current work. */
  close(): Promise<void>
}

/** Starts the workers. */
export function startPayments(options: EngineOptions): Engine {
  const { db, log, backend, linkKeys, settings, findMerchant, publishEvent } = options
  const makeCalls = callMaker({ db, log, backend, linkKeys })
  const calls = startDirectCalls({ db, log }, makeCalls)
  const payments: PaymentContext = {
    db,
    storePayment: batchingStore(db),
    findPayment: batchingReader(db),
    changeInBatch: batchingChanger(db),
    log,
    linkKeys,
    settings,
    findMerchant,
    metrics: paymentMetrics(options.metrics, {
      backlog: () => taskBacklog(db),
      oldestUnreportedRefundS: () => oldestUnreportedRefundS(db),
    }),
    publish: publishEvent,
    callBackend: calls.call,
  }
  const loops = [
    calls,
    startTasks({ db, log }, makeCalls),
    startExpiry(payments),
    startPayouts(payments),
    startEnquiries(payments, backend),
    ...startCounts({ db, log }),
  ]
  return {
    payments,
    checkouts: { payments, backend },
    async close() {
      await Promise.all(loops.map((loop) => loop.close()))
    },
  }
}
