// The context of all operations of the institution service.
import type { Database } from '#platform/db/db.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { TransactionMetrics } from '../metrics.ts'
import type { Peers } from '../ports/peers.ts'
import type { RateOf } from '../ports/rates.ts'

/** The settings of the service. */
export type InstitutionSettings = {
  /** Name of the back end, which alone reports on transfers. */
  backendName: string
  /** Waits before each enquiry about a transfer; the last one is repeated until its deadline. */
  enquiryScheduleS: readonly number[]
  /** How long a transfer is waited for before it is taken back. */
  transferTtlS: number
  /** Duration of the lease of a row. */
  leaseMs: number
  /** How long a request waits for another one with the same id. */
  patienceMs: number
}

/** The dependencies of all operations. */
export type Institution = {
  db: Database
  log: Logger
  settings: InstitutionSettings
  peers: Peers
  rateOf: RateOf
  metrics: TransactionMetrics
  /** Notifies the outbox and the worker: something was committed. */
  notify: () => void
}
