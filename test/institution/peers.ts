// Quotes and the back end for the tests of this folder, in memory but with the promises of their contracts.
import { randomUUID } from 'node:crypto'
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { Failure } from '#core/errors/errors.ts'
import {
  CancelTransferResponseSchema,
  type CreateTransferRequest,
  CreateTransferRequestSchema,
  EnquireTransferResponseSchema,
  TransferState,
} from '#gen/payweave/backend/v1/transfers_pb.js'
import {
  GetRateResponseSchema,
  QuoteTransactionStatus,
  ReserveQuoteRequestSchema,
  ReserveQuoteResponseSchema,
} from '#gen/payweave/quotes/v1/quotes_pb.js'
import type { Peers } from '../../services/institution/ports/peers.ts'
import { init, no } from './accounts.ts'

export type Quote = {
  quoteId: string
  /** The only account that runs it; any does when it is not said. */
  accountId?: string
  debit: { currency: string; minorUnits: bigint }
  credit: { currency: string; minorUnits: bigint }
  rounding: { currency: string; minorUnits: bigint }
  expireTime: Date
  reservedBy?: string
  isUsed: boolean
  receiptId: string
  status: QuoteTransactionStatus
  given: Set<string>
}

/** Quotes: reserved once, confirmed or released. */
export function newQuotes(now: () => Date) {
  const quotes = new Map<string, Quote>()
  const state = { rates: { 'USD TTD': '6.7829', 'TTD TTD': '1.0000' } as Record<string, string> }
  const find = (quoteId = ''): Quote => {
    const quote = quotes.get(quoteId)
    if (quote === undefined) throw no('QUOTE_NOT_FOUND')
    return quote
  }
  const peers: Pick<Peers, 'quotes'> = {
    quotes: {
      async getRate({ baseCurrency, quotedCurrency }) {
        const rate = state.rates[`${baseCurrency} ${quotedCurrency}`]
        if (rate === undefined) throw no('CURRENCY_NOT_SUPPORTED')
        return create(GetRateResponseSchema, { rate })
      },
      async reserveQuote(asked) {
        const request = create(ReserveQuoteRequestSchema, init(asked))
        const quote = find(request.quoteId)
        if (quote.accountId !== undefined && quote.accountId !== request.accountId) {
          throw no('PARTY_NOT_ALLOWED')
        }
        if (quote.given.has(request.movementId)) throw no('QUOTE_ALREADY_USED')
        const isTaken = quote.reservedBy !== undefined && quote.reservedBy !== request.movementId
        if (isTaken || quote.isUsed) throw no('QUOTE_ALREADY_USED')
        if (quote.expireTime <= now()) throw no('QUOTE_EXPIRED')
        for (const side of ['debit', 'credit'] as const) {
          const { currency, minorUnits } = request[side] ?? {}
          if (currency !== quote[side].currency || minorUnits !== quote[side].minorUnits) {
            throw no('QUOTE_MISMATCH')
          }
        }
        quote.reservedBy = request.movementId
        const { quoteId, rounding } = quote
        const expireTime = timestampFromDate(quote.expireTime)
        return create(ReserveQuoteResponseSchema, { quote: { quoteId, rounding, expireTime } })
      },
      async confirmQuote({
        quoteId,
        movementId,
        institutionReceiptId = '',
        transactionStatus = 0,
      }) {
        const quote = find(quoteId)
        if (quote.reservedBy !== movementId) throw no('QUOTE_NOT_FOUND')
        if (!quote.isUsed) quote.status = transactionStatus
        quote.isUsed = true
        quote.receiptId = institutionReceiptId
        return { $typeName: 'payweave.quotes.v1.ConfirmQuoteResponse' }
      },
      async releaseQuote({ quoteId, movementId = '' }) {
        const quote = find(quoteId)
        if (quote.isUsed && quote.reservedBy === movementId) throw no('QUOTE_ALREADY_USED')
        if (quote.reservedBy === movementId) delete quote.reservedBy
        quote.given.add(movementId)
        return { $typeName: 'payweave.quotes.v1.ReleaseQuoteResponse' }
      },
      async updateQuoteTransaction({ quoteId, movementId, transactionStatus }) {
        const quote = find(quoteId)
        if (!quote.isUsed || quote.reservedBy !== movementId) throw no('QUOTE_NOT_FOUND')
        const status = transactionStatus ?? QuoteTransactionStatus.UNSPECIFIED
        if (status !== QuoteTransactionStatus.PENDING) quote.status = status
        return { $typeName: 'payweave.quotes.v1.UpdateQuoteTransactionResponse' }
      },
    },
  }
  return {
    peers,
    quotes,
    state,
    quote(more: Partial<Quote> = {}): Quote {
      const quote: Quote = {
        quoteId: randomUUID(),
        debit: { currency: 'USD', minorUnits: 10_000n },
        credit: { currency: 'TTD', minorUnits: 67_829n },
        rounding: { currency: 'TTD', minorUnits: 0n },
        expireTime: new Date(now().getTime() + 300_000),
        isUsed: false,
        receiptId: '',
        status: QuoteTransactionStatus.UNSPECIFIED,
        given: new Set(),
        ...more,
      }
      quotes.set(quote.quoteId, quote)
      return quote
    },
  }
}

/** A back end: transfers that a test lets end. */
export function newBackend() {
  const transfers = new Map<string, { request: CreateTransferRequest; state: TransferState }>()
  const refused = new Set<string>()
  /** The transfers that were to be cancelled. */
  const cancels = new Set<string>()
  const counts = { creates: 0, enquiries: 0, refusals: 0 }
  /** `isMoving`: the money of pending transfers can no longer be stopped. */
  const state = {
    ...counts,
    isDown: false,
    isMoving: false,
    /** With what each new transfer is refused; undefined: it is accepted. */
    refusesWith: undefined as Failure | undefined,
    /** With what every call is answered by a back end without transfers. */
    lacksTransfers: undefined as Failure | undefined,
  }
  const answer = <T>(work: () => T): T => {
    if (state.isDown) {
      state.refusals += 1
      throw no('SERVICE_UNAVAILABLE')
    }
    if (state.lacksTransfers !== undefined) throw state.lacksTransfers
    return work()
  }
  const peers: Pick<Peers, 'transfers'> = {
    transfers: {
      createTransfer: async (asked) =>
        answer(() => {
          state.creates += 1
          const request = create(CreateTransferRequestSchema, init(asked))
          const { transferId } = request
          if (state.refusesWith !== undefined) throw state.refusesWith
          if (refused.has(transferId)) throw no('REFERENCE_REFUSED')
          const known = transfers.get(transferId)
          const bytes = (one: MessageInitShape<typeof CreateTransferRequestSchema>) =>
            toBinary(CreateTransferRequestSchema, create(CreateTransferRequestSchema, one))
          if (known !== undefined && !Buffer.from(bytes(known.request)).equals(bytes(request))) {
            throw new Error('a transfer was reported in two ways')
          }
          if (known === undefined)
            transfers.set(transferId, { request, state: TransferState.PENDING })
          return { $typeName: 'payweave.backend.v1.CreateTransferResponse' as const }
        }),
      enquireTransfer: async ({ transferId = '' }) =>
        answer(() => {
          state.enquiries += 1
          const known = transfers.get(transferId)
          if (known === undefined) refused.add(transferId)
          const found = known?.state ?? TransferState.NOT_FOUND
          return create(EnquireTransferResponseSchema, { state: found, reason: 'stand\u0000in' })
        }),
      cancelTransfer: async ({ transferId = '' }) =>
        answer(() => {
          cancels.add(transferId)
          const known = transfers.get(transferId)
          if (known === undefined) refused.add(transferId)
          else if (known.state === TransferState.PENDING && !state.isMoving)
            known.state = TransferState.CANCELLED
          const found = known?.state ?? TransferState.CANCELLED
          return create(CancelTransferResponseSchema, { state: found })
        }),
    },
  }
  return { peers, transfers, refused, cancels, state }
}
