// Puts the parts of the institution service together and runs its worker; it must not read settings nor open connections.
import type { Registry } from 'prom-client'
import type { Database } from '#runtime/db.ts'
import type { Logger } from '#runtime/log.ts'
import type { Institution, InstitutionSettings, Peers } from './institution.ts'
import { transactionMetrics } from './metrics.ts'
import { rateKeeper } from './rates.ts'
import { backlog } from './work-store.ts'
import { startWorker } from './worker.ts'

/** What the service stands on. */
export type EngineOptions = {
  db: Database
  log: Logger
  metrics: Registry
  settings: InstitutionSettings
  peers: Peers
  /** Wakes the relay of the outbox. */
  kickOutbox: () => void
}

/** The service with its worker running. */
export type Engine = {
  institution: Institution
  /** Stops the worker, with the work in hand finished. */
  close(): Promise<void>
}

/** Starts the worker. */
export function startInstitution(options: EngineOptions): Engine {
  const { db, log, settings, peers, kickOutbox } = options
  const institution: Institution = {
    db,
    log,
    settings,
    peers,
    rateOf: rateKeeper(peers.quotes),
    metrics: transactionMetrics(options.metrics, () => backlog(db)),
    kick() {
      kickOutbox()
      worker.kick()
    },
  }
  const worker = startWorker(institution)
  return { institution, close: () => worker.close() }
}
