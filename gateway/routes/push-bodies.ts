// Schemas of the pushes to clients: notify, callback and the signed callback of accounts.
import { Type } from 'typebox'
import { noticeKinds, paymentMethods, paymentStates } from '#core/payment/words.ts'
import {
  anyText,
  currencyCode,
  dateTime,
  fieldsOf,
  isoTime,
  listOf,
  word,
} from './answer-values.ts'
import {
  payeeAnswer,
  paymentFees,
  paymentSnapshot,
  paymentsStatus,
  paymentTimestamps,
} from './payments/answers.ts'

const amountNumber = () => Type.Number({ examples: [100] })

const common = {
  transaction_id: anyText(),
  status: word([
    'INITIATED',
    'PAID',
    'FAILED',
    'CANCELLED',
    'EXPIRED',
    'REFUNDED',
    'SCHEDULED',
  ] as const),
  timestamp: isoTime(),
  description: anyText(),
}

const [invited = 'payment_initiated'] = noticeKinds
const aboutPayers = noticeKinds.filter((kind) => /^payment_(?!initiated)/.test(kind))
const aboutPayees = noticeKinds.filter((kind) => kind.startsWith('payout_'))

/** A light event of one payer or payee. */
export const notifyBody = Type.Union([
  fieldsOf({
    event_type: word([invited]),
    ...common,
    payer: fieldsOf({
      name: anyText(),
      mobile_number: anyText(),
      amount: amountNumber(),
      currency: currencyCode(),
    }),
  }),
  fieldsOf({
    event_type: word(aboutPayers),
    ...common,
    payer: fieldsOf({
      mobile_number: anyText(),
      amount: amountNumber(),
      payment_method: word(paymentMethods),
      currency: currencyCode(),
    }),
  }),
  fieldsOf({
    event_type: word(aboutPayees),
    ...common,
    payee: fieldsOf({
      mobile_number: anyText(),
      amount: amountNumber(),
      currency: currencyCode(),
    }),
  }),
])

/** A snapshot of a payment request, as GET /payments/status returns it. */
export const callbackBody = fieldsOf({
  status: word(paymentStates),
  sequence: Type.Integer({ minimum: 1 }),
  timestamp: isoTime(),
  ...paymentSnapshot,
  payments_status: paymentsStatus,
  fees: paymentFees,
  timestamps: paymentTimestamps,
  payees: listOf(payeeAnswer),
})

/** The end of an onboarding or of a registration. */
export const onboardingBody = fieldsOf({
  version: Type.Literal('2024-10-01'),
  request_timestamp: dateTime(),
  request_id: Type.String({ format: 'uuid' }),
  institution_name: anyText(),
  account: fieldsOf({
    mobile_number: anyText(),
    account_status: word(['pending_review', 'available', 'unavailable']),
    account_level: Type.Integer({ minimum: 0, maximum: 2 }),
    funds_access_status: word(['none', 'limited', 'full']),
    onboarding_status: word(['pending_review', 'completed', 'rejected']),
  }),
  request_status: Type.Optional(word(['approved', 'rejected'])),
})
