// What everything in the institution service works with; it must not hold a rule.
import type { Client } from '@connectrpc/connect'
import type { AccessService } from '#gen/accounts/v1/access_pb.js'
import type { AccountsService } from '#gen/accounts/v1/accounts_pb.js'
import type { MovementService } from '#gen/accounts/v1/movement_pb.js'
import type { TransferService } from '#gen/backend/v1/transfers_pb.js'
import type { QuotesService } from '#gen/quotes/v1/quotes_pb.js'
import type { Database } from '#runtime/db.ts'
import type { Logger } from '#runtime/log.ts'
import type { TransactionMetrics } from './metrics.ts'
import type { RateOf } from './rates.ts'

/** The calls that a transaction makes. Each may be repeated. */
export type Peers = {
  access: Pick<Client<typeof AccessService>, 'checkGrant'>
  accounts: Pick<Client<typeof AccountsService>, 'resolveSession'>
  movements: Pick<
    Client<typeof MovementService>,
    'beginMovement' | 'completeMovement' | 'cancelMovement'
  >
  quotes: Pick<
    Client<typeof QuotesService>,
    'reserveQuote' | 'confirmQuote' | 'releaseQuote' | 'updateQuoteTransaction' | 'getRate'
  >
  transfers: Pick<
    Client<typeof TransferService>,
    'createTransfer' | 'enquireTransfer' | 'cancelTransfer'
  >
}

/** What the service goes by. */
export type InstitutionSettings = {
  /** Waits before each enquiry about a transfer; the last one is repeated until its deadline. */
  enquiryScheduleS: readonly number[]
  /** How long a transfer is waited for before it is taken back. */
  transferTtlS: number
  /** How long a row stays in one hand. */
  leaseMs: number
  /** How long a request waits for another one with the same id. */
  patienceMs: number
}

/** Handed to every part. */
export type Institution = {
  db: Database
  log: Logger
  settings: InstitutionSettings
  peers: Peers
  rateOf: RateOf
  metrics: TransactionMetrics
  /** Wakes the relay of the outbox and the worker: something was committed. */
  kick: () => void
}
