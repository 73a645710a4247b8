// Reserves, releases and confirms the quote of a transaction.
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { Failure } from '#core/errors/errors.ts'
import { isUuid } from '#core/identity/id.ts'
import { withProject } from '#platform/rpc/client/client.ts'
import { quoteStatuses } from '../api/messages.ts'
import type { Leased, ShownState, Transaction } from '../domain/transaction.ts'
import { recordReservation } from '../store/transaction-store.ts'
import { recordQuoteNotified } from '../store/work-store.ts'
import type { Institution } from './institution.ts'

/**
 * Reserves the quote and records the reservation, before the movement can begin. A recorded reservation is not requested
 * again: the movement gets the time until which it may begin. Undefined: the lease was lost.
 */
export async function reserveQuote(
  { db, peers }: Institution,
  row: Leased,
): Promise<Leased | undefined> {
  if (row.quoteId === undefined || row.reservation !== undefined) return row
  const { projectId, quoteId, institutionId, movementId } = row
  // The text is the client's, and what is no id names no quote.
  if (!isUuid(quoteId)) throw new Failure('QUOTE_NOT_FOUND', 'there is no such quote')
  const debit = { currency: row.senderCurrency, minorUnits: row.senderAmountMinor }
  const credit = { currency: row.currency, minorUnits: row.amountMinor }
  const { accountId } = row.limit
  const request = { projectId, quoteId, institutionId, movementId, debit, credit, accountId }
  const { quote } = await peers.quotes.reserveQuote(request, withProject(projectId))
  if (quote?.expireTime === undefined) throw new Error('the answer has no quote')
  const { rounding } = quote
  const reservation = {
    expireTime: timestampDate(quote.expireTime),
    rounding: { minor: rounding?.minorUnits ?? 0n, currency: rounding?.currency },
  }
  return (await recordReservation(db, row, reservation)) ? { ...row, reservation } : undefined
}

/** Gives the quote of a refused claim back. */
export async function releaseQuote({ peers }: Institution, row: Leased): Promise<void> {
  const { projectId, quoteId, movementId } = row
  if (quoteId === undefined || !isUuid(quoteId)) return
  try {
    await peers.quotes.releaseQuote({ projectId, quoteId, movementId }, withProject(projectId))
  } catch (error) {
    // A quote that does not exist has no reservation.
    if (!(error instanceof Failure && error.reason === 'QUOTE_NOT_FOUND')) throw error
  }
}

/** Sends the state of the transaction that executed a quote to the quotes service. */
export async function notifyQuote(
  { db, peers }: Institution,
  row: Transaction & { state: ShownState },
): Promise<void> {
  const { projectId, quoteId, movementId, state, quoteNotified } = row
  if (quoteId === undefined || quoteNotified === state) return
  const update = { projectId, quoteId, movementId, transactionStatus: quoteStatuses[state] }
  if (quoteNotified === undefined) {
    const { transactionId, receiptId: institutionReceiptId } = row
    const request = { ...update, transactionId, institutionReceiptId }
    await peers.quotes.confirmQuote(request, withProject(projectId))
    // A confirmation may have come before, unnoticed, with an earlier status; another one does not change it.
    if (row.type !== 'p2p' && state !== 'pending') {
      await peers.quotes.updateQuoteTransaction(update, withProject(projectId))
    }
  } else {
    await peers.quotes.updateQuoteTransaction(update, withProject(projectId))
  }
  await recordQuoteNotified(db, movementId, state)
}
