// Examples of every push for the documents, made by the code that renders pushes.
import { renderNotice } from '#core/payment/notice.ts'
import { type PaymentView, renderCallback } from '#core/payment/snapshot.ts'
import {
  type NoticeKind,
  noticeKinds,
  type PayerState,
  type PaymentState,
} from '#core/payment/words.ts'

/** One push: what it says, and its body as it is sent. */
export type PushExample = { name: string; says: string; body: string }

const created = new Date('2026-11-21T10:05:30.000Z')
const occurred = new Date('2026-11-21T10:15:30.123Z')
const expires = new Date('2026-11-22T10:05:30.000Z')

function payment(state: PaymentState, payerState: PayerState): PaymentView {
  return {
    paymentId: '01a1fc1d-3c7c-7a55-beb8-41051e057d99',
    transactionId: 'order-1001',
    amountMinor: 2_500n,
    currency: 'USD',
    state,
    fraudCheckStatus: 'skipped',
    fees: {
      totalMinor: 12n,
      cardProcessingMinor: 0n,
      platformProcessingMinor: 12n,
      agentProcessingMinor: 0n,
      convenienceMinor: 0n,
      payerPaysMinor: 0n,
      payeePaysMinor: 0n,
      merchantPaysMinor: 12n,
    },
    createTime: created,
    updateTime: occurred,
    expireTime: expires,
    payers: [
      {
        mobileNumber: '+12025550101',
        firstName: 'Kofi',
        lastName: 'Boateng',
        paymentChannel: 'payment_link',
        paymentMethod: 'wallet',
        amountMinor: 2_500n,
        feeMinor: 0n,
        tipMinor: 0n,
        taxMinor: 0n,
        convenienceFeeMinor: 0n,
        state: payerState,
        expireTime: expires,
        linkToken: '',
      },
    ],
    payees: [
      {
        mobileNumber: '+12025550200',
        amountMinor: 2_500n,
        feeMinor: 0n,
        delayDays: 0,
        feesCovered: true,
      },
    ],
  }
}

const noticeMeanings: Record<NoticeKind, string> = {
  payment_initiated: 'A link was issued to the payer.',
  payment_completed: 'The payer has paid.',
  payment_failed: 'The fraud rules stopped the request, or the payer used up their attempts.',
  payment_cancelled: 'You cancelled the request.',
  payment_expired: 'The time to pay ran out.',
  payment_refunded: "The payer's money goes back.",
  payout_scheduled: "The request is paid; the payee's money is sent after its days of delay.",
  payout_completed: 'The payee has the money.',
  payout_failed: 'The payout was rejected permanently.',
}

const callbacks = [
  { name: 'paid', says: 'Every payer has paid.', state: 'paid', payer: 'paid', sequence: 1 },
  {
    name: 'cancelled',
    says: 'You cancelled the request.',
    state: 'Cancelled',
    payer: 'Cancelled',
    sequence: 1,
  },
  {
    name: 'expired',
    says: 'The time to pay ran out.',
    state: 'Expired',
    payer: 'Expired',
    sequence: 1,
  },
  {
    name: 'failed',
    says: 'The fraud rules stopped the request, or a payer used up their attempts.',
    state: 'Failed',
    payer: 'Failed',
    sequence: 1,
  },
  {
    name: 'refunded',
    says: 'The request was paid, and is refunded.',
    state: 'Refunded',
    payer: 'Refunded',
    sequence: 2,
  },
] as const

const onboarding = {
  version: '2024-10-01',
  request_timestamp: '2026-11-21 10:05:30',
  request_id: 'd2f1b1e4-7a53-4f61-9e0c-3f5a0f6f8b11',
  institution_name: 'Demo Wallet',
  account: {
    mobile_number: '+12025550142',
    account_status: 'available',
    account_level: 1,
    funds_access_status: 'limited',
    onboarding_status: 'completed',
  },
}
const rejected = {
  ...onboarding.account,
  account_status: 'unavailable',
  account_level: 0,
  funds_access_status: 'none',
  onboarding_status: 'rejected',
}

/** Examples by the name of the push in the OpenAPI document. */
export const pushExamples: Record<'notify' | 'callback' | 'onboarding', PushExample[]> = {
  notify: noticeKinds.map((kind) => ({
    name: kind,
    says: noticeMeanings[kind],
    body: renderNotice(payment('paid', 'paid'), { kind, index: 0 }, occurred),
  })),
  callback: callbacks.map(({ name, says, state, payer, sequence }) => ({
    name,
    says,
    body: JSON.stringify(renderCallback(payment(state, payer), sequence, occurred)),
  })),
  onboarding: [
    { name: 'completed', says: 'The account can be used.', body: JSON.stringify(onboarding) },
    {
      name: 'rejected',
      says: 'The review rejected the profile.',
      body: JSON.stringify({ ...onboarding, account: rejected }),
    },
    {
      name: 'approved',
      says: 'The holder approved your registration.',
      body: JSON.stringify({ ...onboarding, request_status: 'approved' }),
    },
  ],
}
