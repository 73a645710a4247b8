// Response schemas of the routes of institution transactions.
import {
  anyText,
  currencyCode,
  dateTime,
  fieldsOf,
  historyPage,
  idText,
  nullable,
  paidAmount,
  word,
} from '../answer-values.ts'
import { transferFees } from '../quote/answers.ts'

const kind = () => word(['p2p', 'inttransfer', 'deposit', 'cashout'])
const status = () => word(['pending', 'completed', 'failed', 'cancelled'])

/** POST /institution/transaction. */
export const transactionMade = { institution_receipt_id: idText() }

/** GET /institution/transaction. */
export const transactionRead = {
  transaction_id: idText(),
  institution_receipt_id: idText(),
  transaction_type: kind(),
  transaction_status: status(),
  currency: currencyCode(),
  amount: paidAmount(),
  institution_name: anyText(),
}

const maskedParty = () =>
  fieldsOf({ mobile_number: nullable(anyText()), account_number: nullable(anyText()) })

/** GET /institution/transaction_history. */
export const transactionHistoryRead = {
  data: historyPage(
    fieldsOf({
      transaction_id: idText(),
      institution_receipt_id: idText(),
      transaction_type: kind(),
      transaction_status: status(),
      amount: paidAmount(),
      currency: currencyCode(),
      sender_amount: paidAmount(),
      sender_currency: currencyCode(),
      fees: transferFees,
      quote_id: nullable(idText()),
      description: anyText(),
      posted_date: nullable(dateTime()),
      cleared_date: nullable(dateTime()),
      sender: maskedParty(),
      recipient: maskedParty(),
    }),
  ),
}
