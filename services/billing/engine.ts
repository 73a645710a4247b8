// Puts the parts of billing together and runs its workers; it must not read settings nor open connections.
import type { Registry } from 'prom-client'
import type { KeySource } from '#core/key-ring.ts'
import type { Database } from '#runtime/db.ts'
import type { Logger } from '#runtime/log.ts'
import type { Billers } from './backend.ts'
import { type CatalogueCache, catalogueCache } from './catalogue-cache.ts'
import type { Ledger } from './ledger.ts'
import { billingMetrics } from './metrics.ts'
import type { Billing } from './pay.ts'
import { readBacklog } from './settle-store.ts'
import { startEnquiries, startSettling } from './workers.ts'

/** What billing stands on. */
export type EngineOptions = {
  db: Database
  log: Logger
  metrics: Registry
  linkKeys: KeySource
  ledger: Ledger
  billers: Billers
  billerTimeoutMs: number
  enquiryScheduleS: readonly number[]
}

/** Billing with its workers running. */
export type Engine = {
  billing: Billing
  catalogue: CatalogueCache
  /** Stops the workers, with the work in hand finished. */
  close(): Promise<void>
}

/** Starts the workers. Every replica runs them; what is in one's hand is left by the others. */
export function startBilling(options: EngineOptions): Engine {
  const { metrics, ...parts } = options
  const catalogue = catalogueCache(options.db)
  const billing: Billing = {
    ...parts,
    metrics: billingMetrics(metrics, () => readBacklog(options.db)),
    catalogue: () => catalogue.read(),
    kickSettling: () => settling.kick(),
    kickEnquiries: () => enquiries.kick(),
  }
  const settling = startSettling(billing)
  const enquiries = startEnquiries(billing)
  return {
    billing,
    catalogue,
    async close() {
      await Promise.all([settling.close(), enquiries.close()])
    },
  }
}
