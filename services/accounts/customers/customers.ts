// What everything about customers works with, and the checks that its calls share; it must not know RPC.

import { isCountry } from '#core/country.ts'
import { Failure, invalid } from '#core/errors.ts'
import type { KeySource } from '#core/key-ring.ts'
import { checkPushUrl } from '#core/push-url.ts'
import type { Database, Queryable } from '#runtime/db.ts'
import type { Logger } from '#runtime/log.ts'
import type { UserLimits } from '#runtime/setting-rules.ts'
import type { AccountSecrets } from '../credentials.ts'
import type { CustomerMetrics } from './metrics.ts'

/** What customers goes by. */
export type CustomerSettings = {
  sessionTtlS: number
  challengeTtlS: number
  userLimits: UserLimits
  /** Takes http and loopback callback URLs too; for the local start. */
  allowLoopback: boolean
}

/** What everything about customers works with. */
export type Customers = {
  db: Database
  log: Logger
  secrets: AccountSecrets
  /** Session tokens are derived under them and page tokens signed. */
  sessionKeys: KeySource
  settings: CustomerSettings
  metrics: CustomerMetrics
  /** Writes the news to the outbox of the same transaction. */
  tellAccessChanged(tx: Queryable, projectId: string | undefined): Promise<void>
  /** Wakes the workers and the relay: a task or an event was committed. */
  kick(): void
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
