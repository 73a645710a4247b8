// One bill payment from its key to its outcome, as far as the first call takes it; it must not ask a biller twice.
import { Failure } from '#core/errors.ts'
import { newId, randomId } from '#core/id.ts'
import type { Database } from '#runtime/db.ts'
import type { Logger } from '#runtime/log.ts'
import type { Billers } from './backend.ts'
import { type Bill, type BillerAnswer, type BillOrder, newTransactionId } from './bill.ts'
import { claimKey, dropClaim, findByKey } from './bill-store.ts'
import { type Catalogue, checkOffered } from './catalogue.ts'
import type { Ledger } from './ledger.ts'
import type { BillingMetrics } from './metrics.ts'
import { type OutcomeOptions, writeOutcome } from './outcome.ts'

/** What bill payments stand on. */
export type Billing = OutcomeOptions & {
  db: Database
  log: Logger
  ledger: Ledger
  billers: Billers
  metrics: BillingMetrics
  /** The catalogue of now, at most seconds old. */
  catalogue: () => Promise<Catalogue>
  /** Longest wait for the biller in the client's call. */
  billerTimeoutMs: number
  /** Wakes the worker that tells the ledger of ends. */
  kickSettling: () => void
  /** Wakes the worker that enquires. */
  kickEnquiries: () => void
}

/** What became of a call to pay. */
export type Paid = { bill: Bill; replayed: boolean }

// What the steps beside the biller's answer may take, ten times over. Until it ends nobody asks the back end.
const marginMs = 30_000
// Less than the gateway waits for a payment.
const allMs = 55_000

/** How long each of two calls for a hold may take: the client waits on, and its payment has not overslept yet. */
export function ledgerTimeoutMs(billerTimeoutMs: number): number {
  return Math.min(0.4 * marginMs, allMs - billerTimeoutMs) / 2
}

/**
 * Pays a bill, or tells what became of the payment that took the key. Throws the refusals of the catalogue,
 * INSUFFICIENT_FUNDS, IDEMPOTENCY_KEY_CONFLICT and IDEMPOTENCY_KEY_IN_PROGRESS; a refusal keeps nothing.
 */
export async function payBill(billing: Billing, order: BillOrder): Promise<Paid> {
  const { db } = billing
  const refusal = await refusalOf(billing, order)
  if (refusal !== undefined) {
    // What the catalogue no longer offers may have been paid before.
    const known = await findByKey(db, order.projectId, order.idempotencyKey)
    if (known === undefined) throw refusal
    return repeat(known, order)
  }
  const leaseToken = randomId()
  const leaseMs = billing.billerTimeoutMs + marginMs
  const begun = performance.now()
  const claim = {
    billPaymentId: newId(),
    transactionId: newTransactionId(),
    leaseToken,
    leaseMs,
  }
  const claimed = await claimKey(db, order, claim)
  if (claimed?.isNew !== true) return repeat(claimed?.bill ?? (await existing(db, order)), order)
  const { bill } = claimed
  await keepMoneyBack(billing, bill, leaseToken)
  // Whoever overslept must not pay any more: by now others may have asked the back end, and been told of nothing.
  if (performance.now() - begun > marginMs / 2) throw new Failure('TIMEOUT', 'it took too long')
  const answer = await askBiller(billing, bill, order)
  const written = await writeOutcome(billing, bill, leaseToken, answer)
  // Whatever is still open is not due before a while.
  if (written?.endTime !== undefined) billing.kickSettling()
  return { bill: written ?? (await existing(db, order)), replayed: false }
}

async function refusalOf(billing: Billing, order: BillOrder): Promise<Failure | undefined> {
  try {
    checkOffered(await billing.catalogue(), order)
    return undefined
  } catch (error) {
    if (error instanceof Failure && error.reason !== 'SERVICE_UNAVAILABLE') return error
    throw error
  }
}

async function existing(db: Database, order: BillOrder): Promise<Bill> {
  const known = await findByKey(db, order.projectId, order.idempotencyKey)
  // Its claim was dropped this instant: the same call may simply be made again.
  if (known === undefined) throw inProgress()
  return known
}

function repeat(known: Bill, order: BillOrder): Paid {
  if (!known.fingerprint.equals(order.fingerprint)) {
    throw new Failure('IDEMPOTENCY_KEY_CONFLICT', 'the key was used with another body')
  }
  if (known.state === 'claimed') throw inProgress()
  return { bill: known, replayed: true }
}

function inProgress(): Failure {
  return new Failure('IDEMPOTENCY_KEY_IN_PROGRESS', 'the first call with this key is running')
}

/** One that stood in the float's queue for too long is asked for once more: every call of the ledger may be repeated. */
async function hold({ ledger }: Billing, bill: Bill): Promise<boolean> {
  try {
    return await ledger.hold(bill)
  } catch (error) {
    if (!(error instanceof Failure && error.reason === 'TIMEOUT')) throw error
    return await ledger.hold(bill)
  }
}

/** Refused: the claim is dropped. No answer: the completer finds out. */
async function keepMoneyBack(billing: Billing, bill: Bill, leaseToken: string): Promise<void> {
  if (await hold(billing, bill)) return
  await dropClaim(billing.db, bill.billPaymentId, leaseToken)
  throw new Failure('INSUFFICIENT_FUNDS', 'the float has too little')
}

async function askBiller(
  { billers, log, metrics }: Billing,
  { billPaymentId }: Bill,
  order: BillOrder,
): Promise<BillerAnswer> {
  const begun = performance.now()
  try {
    return await billers.pay(billPaymentId, order)
  } catch (error) {
    log.warn({ err: error, kind: 'bill' }, 'biller did not answer')
    return { state: 'unclear' }
  } finally {
    metrics.answered((performance.now() - begun) / 1_000)
  }
}
