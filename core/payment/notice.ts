// Renders the light lifecycle pushes of payment requests.
import { formatAmount } from '#core/money/money.ts'
import type { PaymentView } from '#core/payment/snapshot.ts'
import type { NoticeKind } from '#core/payment/words.ts'
import { formatIso } from '#core/text/time.ts'

/** A notify push to be rendered: its kind and the index of the payer or payee whom it is about. */
export type NoticeView = { kind: NoticeKind; index: number }

/**
 * The body of a notify push as JSON text, with amounts as numbers in major units and times in ISO 8601 UTC. It is text
 * because only `JSON.rawJSON` prints an amount of 18 digits exactly; an object would pass through a float. Throws
 * RangeError for an index without a payer or payee, and for an unknown currency.
 */
export function renderNotice(
  payment: PaymentView,
  { kind, index }: NoticeView,
  occurredTime: Date,
): string {
  const row = notices[kind]
  return JSON.stringify({
    event_type: kind,
    transaction_id: payment.transactionId,
    status: row.status,
    timestamp: formatIso(occurredTime),
    description: row.description,
    ...row.about(payment, index),
  })
}

type NoticeRow = {
  status: string
  description: string
  about(payment: PaymentView, index: number): object
}

const notices: Record<NoticeKind, NoticeRow> = {
  payment_initiated: {
    status: 'INITIATED',
    description: 'A payment link was issued to the payer.',
    about: aboutInvited,
  },
  payment_completed: {
    status: 'PAID',
    description: 'The payer has paid.',
    about: aboutPayer,
  },
  payment_failed: {
    status: 'FAILED',
    description: 'The payment of the payer failed.',
    about: aboutPayer,
  },
  payment_cancelled: {
    status: 'CANCELLED',
    description: 'The payment was cancelled.',
    about: aboutPayer,
  },
  payment_expired: {
    status: 'EXPIRED',
    description: 'The time to pay ran out.',
    about: aboutPayer,
  },
  payment_refunded: {
    status: 'REFUNDED',
    description: 'The money goes back to the payer.',
    about: aboutPayer,
  },
  payout_scheduled: {
    status: 'SCHEDULED',
    description: 'The money of the payee is held until its release.',
    about: aboutPayee,
  },
  payout_completed: {
    status: 'PAID',
    description: 'The payee has the money.',
    about: aboutPayee,
  },
  payout_failed: {
    status: 'FAILED',
    description: 'The money could not be paid out to the payee.',
    about: aboutPayee,
  },
}

function aboutInvited({ payers, currency }: PaymentView, index: number): object {
  const payer = at(payers, index)
  return {
    payer: {
      name: [payer.firstName, payer.lastName].filter((name) => name !== '').join(' '),
      mobile_number: payer.mobileNumber,
      amount: amountNumber(payer.amountMinor, currency),
      currency,
    },
  }
}

function aboutPayer({ payers, currency }: PaymentView, index: number): object {
  const payer = at(payers, index)
  return {
    payer: {
      mobile_number: payer.mobileNumber,
      amount: amountNumber(payer.amountMinor, currency),
      payment_method: payer.paymentMethod,
      currency,
    },
  }
}

function aboutPayee({ payees, currency }: PaymentView, index: number): object {
  const payee = at(payees, index)
  return {
    payee: {
      mobile_number: payee.mobileNumber,
      amount: amountNumber(payee.amountMinor, currency),
      currency,
    },
  }
}

function at<T>(items: T[], index: number): T {
  const item = items[index]
  if (item === undefined) throw new RangeError('the notice is about nobody')
  return item
}

// Not in the type library yet. The only way for JSON.stringify to print a number that no float can hold.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }

function amountNumber(amountMinor: bigint, currency: string): unknown {
  return rawJSON(formatAmount(amountMinor, currency))
}
