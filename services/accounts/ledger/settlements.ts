// Wires the posting of settlements to the ledger: the event consumer, and the backfill job.
import type { Client, ConnectRouter } from '@connectrpc/connect'
import type { Registry } from 'prom-client'
import { SettlementPostingService } from '#gen/payweave/accounts/v1/settlement_posting_pb.js'
import type { SettlementService } from '#gen/payweave/payments/v1/settlement_pb.js'
import type { Database } from '#platform/db/db.ts'
import { inboxRoutes } from '#platform/events/inbox-routes.ts'
import type { Nats } from '#platform/events/nats/nats.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { settlementPostingService } from './api/settlements.ts'
import { settlementMetrics } from './settlement-metrics.ts'
import { startBackfill } from './workers/backfill.ts'
import { startSettlementConsumer } from './workers/settlement-consumer.ts'

/** Settlements on their way to the ledger. */
export type Settlements = {
  /** Adds SettlementPostingService and the InboxService of accounts. */
  routes(router: ConnectRouter): void
  /** Stops after the current batch and page. */
  close(): Promise<void>
}

/** Starts to consume events and to read the list of settlements; neither the broker nor payments need to be up. */
export function startSettlements(options: {
  db: Database
  nats: Nats
  payments: Client<typeof SettlementService>
  log: Logger
  metrics: Registry
}): Settlements {
  const { db, payments } = options
  const posted = settlementMetrics(options)
  const consumer = startSettlementConsumer({ ...options, posted })
  const backfill = startBackfill({ ...options, posted })
  return {
    routes(router) {
      inboxRoutes(router, db, consumer)
      router.service(
        SettlementPostingService,
        settlementPostingService({ db, payments, posted }, backfill.notify),
      )
    },
    async close() {
      await Promise.all([consumer.close(), backfill.close()])
    },
  }
}
