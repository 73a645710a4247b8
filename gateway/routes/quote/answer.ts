// Renders a quote as the JSON of its routes.
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import { formatAmount } from '#core/money/money.ts'
import { formatDateTime } from '#core/text/time.ts'
import {
  type Quote,
  QuoteStatus,
  QuoteTransactionStatus,
} from '#gen/payweave/quotes/v1/quotes_pb.js'
import type { Money } from '#gen/payweave/types/v1/types_pb.js'
import { refusal } from '../../http/envelope.ts'

/** The fields of POST /quote. */
export function newQuoteFields(answered: Quote | undefined) {
  const { quote_id, rate, amount_quoted, quote_date, expire_date } = termsOf(given(answered))
  return { quote_id, rate, amount_quoted, quote_date, expire_date }
}

/** The fields of GET /quote. */
export function readQuoteFields(answered: Quote | undefined) {
  const { rate, quote_date, amount_quoted, expire_date } = termsOf(given(answered))
  return { rate, request_date: dayOf(quote_date), quote_date, amount_quoted, expire_date }
}

/** The fields of POST /institution/quote. */
export function newInstitutionQuoteFields(answered: Quote | undefined) {
  return termsOf(given(answered))
}

/** The fields of GET /institution/post: the terms of the quote and its outcome. */
export function postQuoteFields(answered: Quote | undefined) {
  const quote = given(answered)
  const terms = termsOf(quote)
  return {
    ...terms,
    request_date: dayOf(terms.quote_date),
    quote_status: quoteStatuses[quote.status],
    transaction_id: quote.transactionId || null,
    institution_receipt_id: quote.institutionReceiptId || null,
    transaction_status: transactionStatuses[quote.transactionStatus] ?? null,
  }
}

const quoteStatuses: Partial<Record<QuoteStatus, string>> = {
  [QuoteStatus.ACTIVE]: 'active',
  [QuoteStatus.USED]: 'used',
  [QuoteStatus.EXPIRED]: 'expired',
}

const transactionStatuses: Partial<Record<QuoteTransactionStatus, string>> = {
  [QuoteTransactionStatus.PENDING]: 'pending',
  [QuoteTransactionStatus.COMPLETED]: 'completed',
  [QuoteTransactionStatus.FAILED]: 'failed',
  [QuoteTransactionStatus.CANCELLED]: 'cancelled',
}

function given(quote: Quote | undefined): Quote {
  if (quote === undefined) throw refusal('INTERNAL_ERROR')
  return quote
}

function termsOf({ quoteId, rate, requested, quoted, fees, quoteTime, expireTime }: Quote) {
  return {
    quote_id: quoteId,
    rate,
    request_amount: amountOf(requested),
    request_currency: requested?.currency,
    amount_quoted: amountOf(quoted),
    quoted_currency: quoted?.currency,
    fees: {
      total: amountOf(fees?.total),
      convenience: amountOf(fees?.convenience),
      sender_pays: amountOf(fees?.senderPays),
      recipient_pays: amountOf(fees?.recipientPays),
    },
    quote_date: timeOf(quoteTime),
    expire_date: timeOf(expireTime),
  }
}

function dayOf(dateTime: string): string {
  return dateTime.slice(0, 10)
}

function amountOf(money: Money | undefined): string {
  if (money === undefined) throw refusal('INTERNAL_ERROR')
  return formatAmount(money.minorUnits, money.currency)
}

function timeOf(time: Timestamp | undefined): string {
  if (time === undefined) throw refusal('INTERNAL_ERROR')
  return formatDateTime(timestampDate(time))
}
