// Pays one bill, from its key to its outcome, as far as the first call gets. Calls a biller at most once.
import { Failure } from '#core/errors/errors.ts'
import { newId } from '#core/identity/id.ts'
import type { Database } from '#platform/db/db.ts'
import { wasNotSent } from '#platform/rpc/client/not-sent.ts'
import {
  type Bill,
  type BillerAnswer,
  type BillOrder,
  endOf,
  newTransactionId,
} from '../domain/bill.ts'
import { type Catalogue, checkOffered } from '../domain/catalogue.ts'
import type { BillingMetrics } from '../metrics.ts'
import type { Billers } from '../ports/backend.ts'
import { type Claim, type Claimed, findByKey } from '../store/bill-store.ts'
import { type AbandonOptions, giveUp, giveUpClaim, type HoldState } from './abandon.ts'
import { type OutcomeOptions, writeOutcome } from './outcome.ts'

/** Dependencies of bill payments. */
export type Billing = OutcomeOptions &
  AbandonOptions & {
    db: Database
    /** A token for the leases of one claim. */
    issueToken: () => string
    /** Takes a key, as `claimKeys` does. */
    claim: (claim: Claim) => Promise<Claimed | undefined>
    billers: Billers
    metrics: BillingMetrics
    /** The catalogue of now, at most seconds old. */
    catalogue: () => Promise<Catalogue>
    /** Maximum wait for the biller in the client's call. */
    billerTimeoutMs: number
    /** Notifies the worker that posts outcomes to the ledger. */
    notifyOutcomes: () => void
    /** Notifies the worker that enquires. */
    notifyEnquiries: () => void
  }

/** Result of a call to pay. */
export type Paid = { bill: Bill; replayed: boolean }

// What the steps beside the biller's answer may take, ten times over. Until it ends no worker asks the back end.
const marginMs = 30_000
// The client waits for the ledger no longer than this: the worker posts what took longer.
const postWithinMs = 500
// What the gateway gives a payment beside half of the biller's time, less what it takes to write the outcome and the answer.
const besideMs = 3_500

/**
 * How long each of two calls for a hold may take, in milliseconds: the biller has half of its time left then, and the payment is far from the
 * end of its lease.
 */
export function ledgerTimeoutMs(billerTimeoutMs: number): number {
  return Math.min(0.4 * marginMs, billerTimeoutMs / 2 + besideMs) / 2
}

/**
 * Pays a bill, or answers the payment that took the key. Throws the refusals of the catalogue, INSUFFICIENT_FUNDS,
 * IDEMPOTENCY_KEY_CONFLICT and IDEMPOTENCY_KEY_IN_PROGRESS; SERVICE_UNAVAILABLE and TIMEOUT when the biller could not be called. After
 * each of them the key is as free as before the call.
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
  const leaseToken = billing.issueToken()
  const leaseMs = billing.billerTimeoutMs + marginMs
  const begun = performance.now()
  const claim = {
    order,
    billPaymentId: newId(),
    transactionId: newTransactionId(),
    leaseToken,
    leaseMs,
  }
  const claimed = await billing.claim(claim).catch(async (error: unknown) => {
    await giveUpClaim(billing, claim.billPaymentId, leaseToken)
    throw error
  })
  if (claimed?.isNew !== true) return repeat(claimed?.bill ?? (await existing(db, order)), order)
  const { bill } = claimed
  const answer = await execute(billing, bill, order, { leaseToken, begun })
  const isPosted = await postEnd(billing, bill, answer, begun)
  const written = await writeOutcome(billing, bill, leaseToken, answer, isPosted)
  // An open payment is not due yet.
  if (written?.endTime !== undefined && !isPosted) billing.notifyOutcomes()
  return written === undefined
    ? await overtaken(db, bill, order)
    : { bill: written, replayed: false }
}

/**
 * Posts the end of a payment to the ledger before it is written, which saves the worker's writes. False when it did not: then the worker
 * does. When the process dies in between, a worker asks the back end, gets the same answer and posts it once more, without effect.
 */
async function postEnd(
  { ledger, log, billerTimeoutMs }: Billing,
  bill: Bill,
  answer: BillerAnswer,
  begun: number,
): Promise<boolean> {
  const end = endOf(answer)
  // As before the call to the biller: when the lease may have expired, others decide what is posted.
  const isLate = performance.now() - begun > billerTimeoutMs + marginMs / 2
  if (end === undefined || isLate) return false
  try {
    if (end.state === 'succeeded') await ledger.post(bill, postWithinMs)
    else await ledger.release(bill, postWithinMs)
    return true
  } catch (error) {
    log.warn({ err: error, kind: 'bill' }, 'outcome not posted')
    return false
  }
}

/** What a payment answers that lost its lease: what others have written, or that it was given up and can be repeated. */
async function overtaken(db: Database, bill: Bill, order: BillOrder): Promise<Paid> {
  const known = await findByKey(db, order.projectId, order.idempotencyKey)
  if (known === undefined) throw new Failure('SERVICE_UNAVAILABLE', 'the payment was given up')
  return { ...repeat(known, order), replayed: known.billPaymentId !== bill.billPaymentId }
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

/** Holds the money and calls the biller. When that throws, the biller was not called and the key is free. */
async function execute(
  billing: Billing,
  bill: Bill,
  order: BillOrder,
  { leaseToken, begun }: { leaseToken: string; begun: number },
): Promise<BillerAnswer> {
  const known: { hold: HoldState } = { hold: 'absent' }
  try {
    await placeHold(billing, bill, known)
    // When the lease may have expired, stop: a worker may have asked the back end and got NOT_FOUND.
    if (performance.now() - begun > marginMs / 2)
      throw new Failure('TIMEOUT', 'no time left to call the biller')
    return await askBiller(billing, bill, order)
  } catch (error) {
    await giveUp(billing, bill, leaseToken, known.hold)
    throw error
  }
}

/**
 * Places the hold and notes in `known` what is known of it. One that waited for the float's row for too long is requested once more:
 * every call of the ledger may be repeated.
 */
async function placeHold(
  { ledger }: Billing,
  bill: Bill,
  known: { hold: HoldState },
): Promise<void> {
  const request = async () => {
    try {
      return await ledger.hold(bill)
    } catch (error) {
      if (!wasNotSent(error)) known.hold = 'unknown'
      throw error
    }
  }
  const isMade = await request().catch((error: unknown) => {
    if (error instanceof Failure && error.reason === 'TIMEOUT') return request()
    throw error
  })
  if (!isMade) throw new Failure('INSUFFICIENT_FUNDS', 'the float has too little')
  known.hold = 'made'
}

/** The biller's answer; `unclear` when it may have been called. Throws when it was not. */
async function askBiller(
  { billers, log, metrics }: Billing,
  { billPaymentId }: Bill,
  order: BillOrder,
): Promise<BillerAnswer> {
  const begun = performance.now()
  try {
    return await billers.pay(billPaymentId, order)
  } catch (error) {
    if (wasNotSent(error)) throw error
    log.warn({ err: error, kind: 'bill' }, 'biller did not answer')
    return { state: 'unclear' }
  } finally {
    metrics.answered((performance.now() - begun) / 1_000)
  }
}
