// A small server in the place of quotes that records its requests. No assertions here.
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import {
  type CreateQuoteRequest,
  type GetQuoteRequest,
  type Quote,
  QuoteSchema,
  QuoteStatus,
  type QuotesService,
} from '#gen/payweave/quotes/v1/quotes_pb.js'

/** What the stand-in was asked, and how to make it answer otherwise. */
export type SeenQuotes = {
  created: CreateQuoteRequest[]
  read: GetQuoteRequest[]
  /** The refusal of the next calls, when set. */
  refuseWith?: Failure | undefined
  /** Fields that every returned quote has in addition to its usual terms. */
  more: Exclude<MessageInitShape<typeof QuoteSchema>, Quote>
}

/** A stand-in that was asked nothing yet. */
export function newSeenQuotes(): SeenQuotes {
  return { created: [], read: [], more: {} }
}

/** The one quote that there is, of 10.00 USD in TTD. */
export const quoteId = '0198c000-0000-7000-8000-0000000000dd'

/** The handlers. */
export function quotesStandIn(seen: SeenQuotes): Partial<ServiceImpl<typeof QuotesService>> {
  const quote = () => {
    if (seen.refuseWith !== undefined) throw seen.refuseWith
    return { quote: create(QuoteSchema, { ...tenDollars(), ...seen.more }) }
  }
  return {
    createQuote(request) {
      seen.created.push(request)
      return quote()
    },
    getQuote(request) {
      seen.read.push(request)
      if (request.quoteId !== quoteId) throw new Failure('QUOTE_NOT_FOUND', 'no')
      return quote()
    },
  }
}

function tenDollars() {
  const none = { currency: 'USD', minorUnits: 0n }
  return {
    quoteId,
    requested: { currency: 'USD', minorUnits: 1_000n },
    quoted: { currency: 'TTD', minorUnits: 6_782n },
    rate: '6.7829',
    fees: { total: none, convenience: none, senderPays: none, recipientPays: none },
    quoteTime: timestampFromDate(new Date('2026-01-02T23:58:00.000Z')),
    expireTime: timestampFromDate(new Date('2026-01-03T00:03:00.000Z')),
    status: QuoteStatus.ACTIVE,
  }
}
