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
  checkedStore,
  type PaymentContext,
  type PaymentSettings,
} from './operations/payments.ts'
import { reportRefund } from './operations/reports.ts'
import type { RouteContext } from './operations/routes.ts'
import type { Connectors } from './ports/backend.ts'
import type { FindMerchant } from './ports/merchants.ts'
import { oldestUnreportedRefundS } from './store/refund-store.ts'
import { taskBacklog } from './store/task-store.ts'
import { startCallMaker, startDirectCalls } from './workers/calls.ts'
import { openRouteTable } from './workers/route-table.ts'
import { startTasks } from './workers/tasks.ts'
import { startCounts, startEnquiries, startExpiry, startPayouts } from './workers/workers.ts'

/** Dependencies of payments. */
export type EngineOptions = {
  db: Database
  log: Logger
  metrics: Registry
  linkKeys: KeySource
  settings: PaymentSettings
  findMerchant: FindMerchant
  connectors: Connectors
  /** Publishes a committed event directly. */
  publishEvent: (event: CommittedEvent) => void
  /** Ends a start that still waits for the database. */
  stopping?: AbortSignal
}

/** Payments with its workers running. */
export type Engine = {
  payments: PaymentContext
  checkouts: CheckoutContext
  routes: RouteContext
  /** Stops the workers after their current work. */
  close(): Promise<void>
}

/** Reads the routes and starts the workers. Rejects with an AbortError when `stopping` aborts before. */
export async function startPayments(options: EngineOptions): Promise<Engine> {
  const { db, log, connectors, linkKeys, settings, findMerchant, publishEvent } = options
  const table = await openRouteTable(options)
  const { routing } = table
  const metrics = paymentMetrics(options.metrics, {
    backlog: () => taskBacklog(db),
    oldestUnreportedRefundS: () => oldestUnreportedRefundS(db),
  })
  const failRefund = (refundId: string) => reportRefund(payments, refundId, 'failed')
  const { make, close } = startCallMaker({
    db,
    log,
    connectors,
    routing,
    linkKeys,
    metrics,
    failRefund,
  })
  const calls = startDirectCalls({ db, log, connectors }, make)
  const payments: PaymentContext = {
    db,
    storePayment: batchingStore(db),
    storeChecked: checkedStore(db),
    findPayment: batchingReader(db),
    changeInBatch: batchingChanger(db),
    log,
    linkKeys,
    settings,
    findMerchant,
    metrics,
    routing,
    publish: publishEvent,
    callBackend: calls.call,
  }
  const loops = [
    table,
    calls,
    startTasks({ db, log }, make),
    startExpiry(payments),
    startPayouts(payments),
    ...startEnquiries(payments, connectors),
    ...startCounts({ db, log }),
  ]
  return {
    payments,
    checkouts: { payments, connectors },
    routes: { db, connectors, reload: table.reload },
    async close() {
      await Promise.all(loops.map((loop) => loop.close()))
      await close()
    },
  }
}
