// Reserves, releases and confirms the quote of a transaction; it must not judge whether the quote fits.
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { Failure } from '#core/errors.ts'
import { isUuid } from '#core/id.ts'
import { withProject } from '#runtime/rpc/client.ts'
import type { Institution } from './institution.ts'
import { quoteStatuses } from './messages.ts'
import { noteReservation } from './store.ts'
import type { Leased, ShownState, Transaction } from './transaction.ts'
import { noteQuoteTold } from './work-store.ts'

/**
 * Reserves the quote and notes what it says, before the movement can begin. A noted reservation is not asked for again:
 * the movement is told until when it may begin. Undefined: the lease was lost.
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
  return (await noteReservation(db, row, reservation)) ? { ...row, reservation } : undefined
}

/** Gives the quote of a refused claim back. */
export async function releaseQuote({ peers }: Institution, row: Leased): Promise<void> {
  const { projectId, quoteId, movementId } = row
  if (quoteId === undefined || !isUuid(quoteId)) return
  try {
    await peers.quotes.releaseQuote({ projectId, quoteId, movementId }, withProject(projectId))
  } catch (error) {
    // One that never was cannot be held by anybody.
    if (!(error instanceof Failure && error.reason === 'QUOTE_NOT_FOUND')) throw error
  }
}

/** Tells the quotes service where the transaction stands that executed a quote. */
export async function tellQuote(
  { db, peers }: Institution,
  row: Transaction & { state: ShownState },
): Promise<void> {
  const { projectId, quoteId, movementId, state, quoteTold } = row
  if (quoteId === undefined || quoteTold === state) return
  const place = { projectId, quoteId, movementId, transactionStatus: quoteStatuses[state] }
  if (quoteTold === undefined) {
    const { transactionId, receiptId: institutionReceiptId } = row
    const request = { ...place, transactionId, institutionReceiptId }
    await peers.quotes.confirmQuote(request, withProject(projectId))
    // A confirmation may have come before, unnoticed, with an earlier status; another one does not change it.
    if (row.type !== 'p2p' && state !== 'pending') {
      await peers.quotes.updateQuoteTransaction(place, withProject(projectId))
    }
  } else {
    await peers.quotes.updateQuoteTransaction(place, withProject(projectId))
  }
  await noteQuoteTold(db, movementId, state)
}
