// Response schemas of the /payments routes.
import { Type } from 'typebox'
import {
  fraudCheckStatuses,
  payerStates,
  paymentChannels,
  paymentMethods,
  paymentStates,
} from '#core/payment/words.ts'
import {
  anyText,
  count,
  currencyCode,
  dateTime,
  fieldsOf,
  idText,
  isoTime,
  listOf,
  nullable,
  paidAmount,
  uuid,
  word,
} from '../answer-values.ts'

const link = () => nullable(Type.String({ format: 'uri' }))

/** Amounts by what they are for and by who bears them. */
export const paymentFees = fieldsOf({
  total: paidAmount(),
  card_processing: paidAmount(),
  platform_processing: paidAmount(),
  agent_processing: paidAmount(),
  payer_pays: paidAmount(),
  payee_pays: paidAmount(),
  merchant_pays: paidAmount(),
  convenience: paidAmount(),
})

const amountAndCurrency = () =>
  Type.String({ pattern: '^\\d+(\\.\\d+)? [A-Z]{3}$', examples: ['100.00 TTD'], logged: 'value' })

export const paymentsStatus = fieldsOf({
  paid: amountAndCurrency(),
  remaining: amountAndCurrency(),
  metadata: listOf(anyText()),
})

export const paymentTimestamps = fieldsOf({
  created_time: dateTime(),
  updated_time: dateTime(),
  expire_time: dateTime(),
})

export const payeeAnswer = fieldsOf({
  mobile_number: anyText(),
  amount: paidAmount(),
  delay_days: count({ minimum: 0, maximum: 90 }),
  fees_covered: Type.Enum([0, 1]),
  fee: paidAmount(),
})

const details = {
  id: uuid(),
  transaction_id: idText(),
  amount: paidAmount(),
  currency: currencyCode(),
  status: word(paymentStates),
  fraud_check_status: word(fraudCheckStatuses),
  payments_status: paymentsStatus,
  fees: paymentFees,
  timestamps: paymentTimestamps,
  payees: listOf(payeeAnswer),
}

const payerStatus = fieldsOf({
  mobile_number: anyText(),
  payment_channel: word(paymentChannels),
  payment_method: word(paymentMethods),
  status: word(payerStates),
})

/** What status answers and callbacks share. */
export const paymentSnapshot = {
  transaction_request: fieldsOf({
    id: idText(),
    status: word([
      'pending',
      'processing',
      'succeeded',
      'cancelled',
      'expired',
      'failed',
      'refunded',
    ]),
  }),
  payment_details: fieldsOf(details),
  payers: listOf(payerStatus),
}

/** POST /payments/request. */
export const paymentCreated = {
  payment_details: fieldsOf({
    id: uuid(),
    transaction_id: idText(),
    amount: paidAmount(),
    fraud_check_status: word(fraudCheckStatuses),
    payers: listOf(
      fieldsOf({ amount: paidAmount(), status: word(['Pending', 'Failed']), url: link() }),
    ),
  }),
}

/** POST /payments/cancel. */
export const paymentCancelled = {
  payment_details: fieldsOf({
    ...details,
    payers: listOf(
      fieldsOf({
        mobile_number: anyText(),
        amount: paidAmount(),
        payment_channel: word(paymentChannels),
        payment_method: word(paymentMethods),
        fee: paidAmount(),
        tip: paidAmount(),
        tax: paidAmount(),
        convenience_fee: paidAmount(),
        status: word(payerStates),
        expire_time: dateTime(),
        metadata: anyText(),
        url: link(),
        expire_date_time: isoTime(),
      }),
    ),
  }),
}
