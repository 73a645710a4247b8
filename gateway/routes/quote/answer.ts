// Renders a quote as the JSON of its routes.
import {
  type Quote,
  QuoteStatus,
  QuoteTransactionStatus,
} from '#gen/payweave/quotes/v1/quotes_pb.js'
import { dateTimeOf, decimalOf, given } from '../rpc-fields.ts'

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

function termsOf({ quoteId, rate, requested, quoted, fees, quoteTime, expireTime }: Quote) {
  return {
    quote_id: quoteId,
    rate,
    request_amount: decimalOf(requested),
    request_currency: requested?.currency,
    amount_quoted: decimalOf(quoted),
    quoted_currency: quoted?.currency,
    fees: {
      total: decimalOf(fees?.total),
      convenience: decimalOf(fees?.convenience),
      sender_pays: decimalOf(fees?.senderPays),
      recipient_pays: decimalOf(fees?.recipientPays),
    },
    quote_date: dateTimeOf(quoteTime),
    expire_date: dateTimeOf(expireTime),
  }
}

function dayOf(dateTime: string): string {
  return dateTime.slice(0, 10)
}
