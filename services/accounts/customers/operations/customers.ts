// The context of all customer operations, and the checks that they share.

import { Failure, invalid } from '#core/errors/errors.ts'
import type { KeySource } from '#core/identity/key-ring.ts'
import { checkPushUrl } from '#core/text/push-url.ts'
import { isCountry } from '#core/text/text.ts'
import type { UserLimits } from '#platform/config/values.ts'
import type { Database, Queryable } from '#platform/db/db.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { AccountSecrets } from '../../access/domain/at-rest.ts'
import type { CustomerMetrics } from '../metrics.ts'

/** The settings of customers. */
export type CustomerSettings = {
  /** Name of the back end, which alone reports on reviews and consents and reads artefacts. */
  backendName: string
  sessionTtlS: number
  challengeTtlS: number
  userLimits: UserLimits
  /** Takes http and loopback callback URLs too; for the local start. */
  allowLoopback: boolean
}

/** The dependencies of all operations of customers. */
export type Customers = {
  db: Database
  log: Logger
  secrets: AccountSecrets
  /** Session tokens are derived under them and page tokens signed. */
  sessionKeys: KeySource
  settings: CustomerSettings
  metrics: CustomerMetrics
  /** Writes the event to the outbox in the same transaction. */
  publishAccessChanged(tx: Queryable, projectId: string | undefined): Promise<void>
  /** Notifies the workers and the outbox: a task or an event was committed. */
  notify(): void
}

/** Returns a country code; INVALID_PARAMETER for anything else. */
export function requireCountry(code: string, field: string): string {
  if (isCountry(code)) return code
  throw invalid(field, 'must be an ISO 3166-1 alpha-2 code')
}

/** Checks that a callback's URL may be called; INVALID_PARAMETER. */
export function requireCallbackUrl(callbackUrl: string, { allowLoopback }: CustomerSettings): void {
  const must = checkPushUrl(callbackUrl, { allowLoopback })
  if (must !== undefined) throw invalid('callback_url', must)
}

/** The refusal of a look-up that fits no account. */
export function accountNotFound(details: Record<string, string> = {}): Failure {
  return new Failure('ACCOUNT_NOT_FOUND', 'no account matches', { details })
}

/** The refusal of a look-up that fits several accounts. */
export function ambiguousMatch(details: Record<string, string> = {}): Failure {
  const message = 'several accounts match; look up by e-mail instead'
  return new Failure('AMBIGUOUS_MATCH', message, { details })
}
