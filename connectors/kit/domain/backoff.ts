// How long a worker waits before it tries again, and how long it tries. Pure.
import type { Reason } from '#core/errors/errors.ts'

const firstMs = 250
const maxDoublings = 20
/** Of work that fails because a process of ours is away: it is done soon after that is back. */
const maxOutageMs = 10_000
/** Of work that fails otherwise, for example by a revoked key: thousands of payouts together then make a few calls a second. */
const maxDelayMs = 15 * 60_000
/**
 * How long Payweave may answer that it does not know what a report is about. An operator can correct that (a connector with
 * another name, a restored database), and the report may be of money that was taken.
 */
const notFoundWithinMs = 7 * 24 * 3_600_000

/** Answers of our own processes that are over when these are back. */
const outages: ReadonlySet<Reason> = new Set<Reason>(['SERVICE_UNAVAILABLE', 'TIMEOUT'])

/** Answers of Payweave that no repetition changes. */
const refusals: ReadonlySet<Reason> = new Set<Reason>([
  'MISSING_PARAMETER',
  'INVALID_PARAMETER',
  'PAYMENT_NOT_PAYABLE',
])

/** Answers of Payweave that it does not know what a report is about. */
const notFound: ReadonlySet<Reason> = new Set<Reason>([
  'CHARGE_NOT_FOUND',
  'PAYMENT_NOT_FOUND',
  'REVIEW_NOT_FOUND',
  'TRANSFER_NOT_FOUND',
  'TRANSACTION_NOT_FOUND',
])

/** Doubles from a quarter of a second to `maxMs`, spread by a fifth either way; `random` is from 0 to 1. */
export function delayAfter(failures: number, maxMs: number, random: number): number {
  const delayMs = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, maxDoublings))
  return Math.round(delayMs * (0.8 + random * 0.4))
}

/** The maximum delay between two tries that fail for this reason. */
export function maxDelayOf(reason: Reason): number {
  return outages.has(reason) ? maxOutageMs : maxDelayMs
}

/** Whether work that has failed for this reason for `failingMs` milliseconds is given up. */
export function isPermanent(reason: Reason, failingMs: number): boolean {
  return refusals.has(reason) || (notFound.has(reason) && failingMs > notFoundWithinMs)
}
