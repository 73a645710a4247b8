// Puts together what brings settlements to the ledger: events, and the job that makes up for them. It holds no rule.
import type { Client, ConnectRouter } from '@connectrpc/connect'
import type { Registry } from 'prom-client'
import { SettlementPostingService } from '#gen/accounts/v1/settlement_posting_pb.js'
import type { SettlementService } from '#gen/payments/v1/settlement_pb.js'
import type { Database } from '#runtime/db.ts'
import { inboxRoutes } from '#runtime/events/inbox-routes.ts'
import type { Nats } from '#runtime/events/nats.ts'
import type { Logger } from '#runtime/log.ts'
import { startBackfill } from './backfill.ts'
import { startSettlementConsumer } from './consumer.ts'
import { settlementMetrics } from './metrics.ts'
import { settlementPostingService } from './service.ts'

/** Settlements on their way to the ledger. */
export type Settlements = {
  /** Adds SettlementPostingService and the InboxService of accounts. */
  routes(router: ConnectRouter): void
  /** Stops, with the batch and the page in hand finished. */
  close(): Promise<void>
}

/** Starts taking events in and reading settlements back; needs neither the broker nor payments to be up. */
export function startSettlements(options: {
  db: Database
  nats: Nats
  payments: Client<typeof SettlementService>
  log: Logger
  metrics: Registry
}): Settlements {
  const { db } = options
  const posted = settlementMetrics(options)
  const consumer = startSettlementConsumer({ ...options, posted })
  const backfill = startBackfill({ ...options, posted })
  return {
    routes(router) {
      inboxRoutes(router, db)
      router.service(SettlementPostingService, settlementPostingService(db, backfill.kick))
    },
    async close() {
      await Promise.all([consumer.close(), backfill.close()])
    },
  }
}
