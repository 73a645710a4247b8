// Turns a claim into a transaction or a refusal, for the holder of its lease.
import { Failure, type Reason, reasons } from '#core/errors/errors.ts'
import { transactionEvent } from '../api/events.ts'
import type { Leased, ShownState, Transaction } from '../domain/transaction.ts'
import { beginMovement, cancelMovement } from '../ports/movements.ts'
import { acceptClaim, dropClaim, forgetRefusal, recordRefusal } from '../store/transaction-store.ts'
import { postponeTransaction } from '../store/work-store.ts'
import type { Institution } from './institution.ts'
import { notifyQuote, releaseQuote, reserveQuote } from './quotes.ts'

/** A transaction that was accepted. */
export type Accepted = Transaction & { state: ShownState; createTime: Date }

/**
 * Reserves the quote, begins the movement and records the outcome. Undefined: the lease was lost, and its new holder
 * continues. A refusal is thrown, and nothing is left of the claim. An unclear result is thrown too; the claim
 * stays, and the worker asks again until it is known whether the movement began.
 */
export async function executeTransfer(
  institution: Institution,
  claim: Leased,
): Promise<Accepted | undefined> {
  try {
    if (claim.isRefused) throw new Failure('QUOTE_NOT_FOUND', 'the claim was refused before')
    const row = await reserveQuote(institution, claim)
    if (row === undefined) return undefined
    const beginTime = await beginMovement(institution, row)
    return await accept(institution, row, beginTime)
  } catch (error) {
    if (!isRefusal(error)) {
      await postponeTransaction(institution.db, claim, { firstMs: 500, maxMs: 30_000 }).catch(
        () => {},
      )
      throw error
    }
    if (!(await giveUp(institution, claim))) return undefined
    throw error
  }
}

async function accept(
  institution: Institution,
  row: Leased,
  createTime: Date,
): Promise<Accepted | undefined> {
  const { db, settings, metrics, notify, log } = institution
  const isAtOnce = row.type === 'p2p'
  const state = isAtOnce ? 'completed' : 'pending'
  const endTime = isAtOnce ? createTime : undefined
  const accepted = { ...row, state, createTime, endTime } as const
  const event = transactionEvent(accepted)
  const how = { state, createTime, ttlS: settings.transferTtlS } as const
  if (!(await acceptClaim(db, row, how, event))) return undefined
  metrics.accepted(row.type)
  if (row.senderCurrency !== row.currency) metrics.exchanged(row.currency, row.amountMinor)
  notify()
  await notifyQuote(institution, accepted).catch((error: unknown) => {
    log.warn({ err: error }, 'quote not notified')
  })
  return accepted
}

/**
 * Leaves nothing of a refused claim; false when the lease was lost. The refusal is recorded before anything is undone: a later holder
 * must not begin a movement that a call of this one may still cancel, or use a quote that was released.
 */
async function giveUp(institution: Institution, claim: Leased): Promise<boolean> {
  const { db, log } = institution
  // A call of an earlier holder to begin the movement may still be in flight.
  const mayBegin = claim.attempts > 0
  if (!mayBegin && claim.quoteId === undefined) return dropClaim(db, claim)
  if (!(await recordRefusal(db, claim))) return false
  try {
    if (mayBegin) await cancelMovement(institution, claim)
    await releaseQuote(institution, claim)
  } catch (error) {
    log.warn({ err: error }, 'refused claim not cleaned up')
    // It began at once, and nothing can cancel it any more: the next round finds it so.
    const hasBegun = error instanceof Failure && error.reason === 'HOLD_CLOSED'
    if (hasBegun) await forgetRefusal(db, claim)
    await postponeTransaction(db, claim, { firstMs: hasBegun ? 100 : 500, maxMs: 30_000 })
    return !hasBegun
  }
  return dropClaim(db, claim)
}

/** Refusals that do not prove that nothing was done. */
const unclear = new Set<Reason>(['LEDGER_CONFLICT', 'RATE_LIMIT_EXCEEDED', 'UNAUTHENTICATED'])

function isRefusal(error: unknown): error is Failure {
  return error instanceof Failure && reasons[error.reason].http < 500 && !unclear.has(error.reason)
}
