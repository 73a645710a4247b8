// Response schemas of the routes of quotes.
import { Type } from 'typebox'
import {
  currencyCode,
  dateTime,
  fieldsOf,
  idText,
  isoDay,
  nullable,
  paidAmount,
  uuid,
  word,
} from '../answer-values.ts'

const rate = () =>
  Type.String({ pattern: '^\\d+\\.\\d{4,}$', examples: ['6.7829'], logged: 'value' })

/** POST /quote. */
export const quoteMade = {
  quote_id: uuid(),
  rate: rate(),
  amount_quoted: paidAmount(),
  quote_date: dateTime(),
  expire_date: dateTime(),
}

/** GET /quote. */
export const quoteRead = {
  rate: rate(),
  request_date: isoDay(),
  quote_date: dateTime(),
  amount_quoted: paidAmount(),
  expire_date: dateTime(),
}

/** Who bears the fees of a transfer, and how much. */
export const transferFees = fieldsOf({
  total: paidAmount(),
  convenience: paidAmount(),
  sender_pays: paidAmount(),
  recipient_pays: paidAmount(),
})

/** POST /institution/quote. */
export const institutionQuoteMade = {
  quote_id: uuid(),
  rate: rate(),
  request_amount: paidAmount(),
  request_currency: currencyCode(),
  amount_quoted: paidAmount(),
  quoted_currency: currencyCode(),
  fees: transferFees,
  quote_date: dateTime(),
  expire_date: dateTime(),
}

/** GET /institution/post. */
export const institutionQuoteRead = {
  ...institutionQuoteMade,
  request_date: isoDay(),
  quote_status: word(['active', 'used', 'expired']),
  transaction_id: nullable(idText()),
  institution_receipt_id: nullable(idText()),
  transaction_status: nullable(word(['pending', 'completed', 'failed', 'cancelled'])),
}
