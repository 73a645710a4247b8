// Wires the parts of the institution service and runs its worker.
import type { Registry } from 'prom-client'
import type { Database } from '#platform/db/db.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { transactionMetrics } from './metrics.ts'
import type { Institution, InstitutionSettings } from './operations/institution.ts'
import type { Peers } from './ports/peers.ts'
import { rateKeeper } from './ports/rates.ts'
import { backlog } from './store/work-store.ts'
import { startWorker } from './workers/worker.ts'

/** Dependencies of the service. */
export type EngineOptions = {
  db: Database
  log: Logger
  metrics: Registry
  settings: InstitutionSettings
  peers: Peers
  /** Notifies the outbox. */
  notifyOutbox: () => void
}

/** The service with its worker running. */
export type Engine = {
  institution: Institution
  /** Stops the worker after its current work. */
  close(): Promise<void>
}

/** Starts the worker. */
export function startInstitution(options: EngineOptions): Engine {
  const { db, log, settings, peers, notifyOutbox } = options
  const institution: Institution = {
    db,
    log,
    settings,
    peers,
    rateOf: rateKeeper(peers.quotes),
    metrics: transactionMetrics(options.metrics, () => backlog(db)),
    notify() {
      notifyOutbox()
      worker.notify()
    },
  }
  const worker = startWorker(institution)
  return { institution, close: () => worker.close() }
}
