// Wires the parts of billing and runs its workers.
import type { Registry } from 'prom-client'
import { randomId } from '#core/identity/id.ts'
import type { KeySource } from '#core/identity/key-ring.ts'
import type { Database } from '#platform/db/db.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { billingMetrics } from './metrics.ts'
import { startReleasing } from './operations/abandon.ts'
import { batchingBills } from './operations/batching.ts'
import { type CatalogueCache, catalogueCache } from './operations/catalogue-cache.ts'
import type { Billing } from './operations/pay.ts'
import type { Billers } from './ports/backend.ts'
import type { Ledger } from './ports/ledger.ts'
import { readBacklog } from './store/outcome-posting-store.ts'
import { startEnquiries, startOutcomePosting } from './workers/workers.ts'

/** Dependencies of billing. */
export type EngineOptions = {
  db: Database
  log: Logger
  metrics: Registry
  linkKeys: KeySource
  ledger: Ledger
  billers: Billers
  billerTimeoutMs: number
  enquiryScheduleS: readonly number[]
  /** A token for the leases of one claim; by default one that names no instance. */
  issueToken?: () => string
}

/** Billing with its workers running. */
export type Engine = {
  billing: Billing
  catalogue: CatalogueCache
  /** Stops the workers after their current work. */
  close(): Promise<void>
}

/** Starts the workers. Every replica runs them; what one has claimed is skipped by the others. */
export function startBilling(options: EngineOptions): Engine {
  const { metrics, ...parts } = options
  const catalogue = catalogueCache(options.db)
  const { claim, end } = batchingBills(options.db)
  const billing: Billing = {
    issueToken: randomId,
    ...parts,
    claim,
    writeEnd: end,
    unfreed: new Map(),
    metrics: billingMetrics(metrics, () => readBacklog(options.db)),
    catalogue: () => catalogue.read(),
    notifyOutcomes: () => posting.notify(),
    notifyEnquiries: () => enquiries.notify(),
    notifyReleasing: () => releasing.notify(),
  }
  const posting = startOutcomePosting(billing)
  const enquiries = startEnquiries(billing)
  const releasing = startReleasing(billing)
  return {
    billing,
    catalogue,
    async close() {
      await Promise.all([posting.close(), enquiries.close(), releasing.close()])
    },
  }
}
