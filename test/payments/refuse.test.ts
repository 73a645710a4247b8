// What is refused about payment requests, and that a refusal leaves nothing behind.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PaymentChannel, PaymentMethod } from '#gen/payweave/payments/v1/payments_pb.js'
import {
  type Harness,
  type Order,
  payer,
  quietCounts,
  refusal,
  rowCounts,
  startHarness,
} from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

const everyMethod = [
  PaymentMethod.CASH,
  PaymentMethod.CARD,
  PaymentMethod.WALLET,
  PaymentMethod.CREDIT,
  PaymentMethod.DEBIT,
  PaymentMethod.QR_CODE,
]

describe('a refused request', () => {
  const long = 'x'.repeat(1_001)
  const payee = { mobileNumberE164: '+12025550111', amountMinor: 10_000n }
  it.each<[string, string, string, Order]>([
    ['no id', 'MISSING_PARAMETER', 'transaction_id', { transactionId: '' }],
    ['a long id', 'INVALID_PARAMETER', 'transaction_id', { transactionId: 'x'.repeat(65) }],
    [
      'a long id of wide ones',
      'INVALID_PARAMETER',
      'transaction_id',
      { transactionId: '😀'.repeat(65) },
    ],
    ['a control character', 'INVALID_PARAMETER', 'transaction_id', { transactionId: 'a\u0007' }],
    ['no amount', 'MISSING_PARAMETER', 'amount_minor', { amountMinor: 0n }],
    ['a negative amount', 'INVALID_PARAMETER', 'amount_minor', { amountMinor: -1n }],
    ['a huge amount', 'INVALID_PARAMETER', 'amount_minor', { amountMinor: 10n ** 18n }],
    ['no currency', 'MISSING_PARAMETER', 'currency', { currency: '' }],
    ['an unknown currency', 'INVALID_PARAMETER', 'currency', { currency: 'ABC' }],
    ['a long description', 'INVALID_PARAMETER', 'description', { description: long }],
    ['no payers', 'MISSING_PARAMETER', 'payers', { payers: [] }],
    [
      'twenty-one payers',
      'INVALID_PARAMETER',
      'payers',
      { payers: Array.from({ length: 21 }, () => payer(1n)) },
    ],
    [
      'no number',
      'MISSING_PARAMETER',
      'payers[0].mobile_number_e164',
      { payers: [payer(0n, { mobileNumberE164: '' })] },
    ],
    [
      'an invalid number',
      'INVALID_PARAMETER',
      'payers[0].mobile_number_e164',
      { payers: [payer(0n, { mobileNumberE164: '12025550100' })] },
    ],
    [
      'a long name',
      'INVALID_PARAMETER',
      'payers[0].first_name',
      { payers: [payer(0n, { firstName: 'x'.repeat(101) })] },
    ],
    [
      'a bad e-mail address',
      'INVALID_PARAMETER',
      'payers[0].email',
      { payers: [payer(0n, { email: 'nobody' })] },
    ],
    [
      'no channel',
      'MISSING_PARAMETER',
      'payers[0].payment_channel',
      { payers: [payer(0n, { paymentChannel: 0 })] },
    ],
    [
      'no method',
      'MISSING_PARAMETER',
      'payers[0].payment_method',
      { payers: [payer(0n, { paymentMethod: 0 })] },
    ],
    [
      'a share that is missing',
      'MISSING_PARAMETER',
      'payers[1].amount_minor',
      { payers: [payer(10_000n), payer()] },
    ],
    [
      'payers that do not add up',
      'AMOUNT_MISMATCH',
      'payers',
      { payers: [payer(4_000n), payer(5_000n)] },
    ],
    ['an only payer of less', 'AMOUNT_MISMATCH', 'payers', { payers: [payer(9_999n)] }],
    [
      'payees that do not add up',
      'AMOUNT_MISMATCH',
      'payees',
      { payees: [{ ...payee, amountMinor: 9_999n }] },
    ],
    [
      'a payee without amount',
      'MISSING_PARAMETER',
      'payees[0].amount_minor',
      { payees: [{ ...payee, amountMinor: 0n }] },
    ],
    [
      'a long delay',
      'INVALID_PARAMETER',
      'payees[0].delay_days',
      { payees: [{ ...payee, delayDays: 91 }] },
    ],
    [
      'a cover above all',
      'INVALID_PARAMETER',
      'fee_terms.payer_covers_percent',
      { feeTerms: { paysFees: true, payerCoversPercent: 101 } },
    ],
    ['a bad URL', 'INVALID_PARAMETER', 'urls.notify', { urls: { notify: 'ftp://x.example' } }],
    [
      'a private URL',
      'INVALID_PARAMETER',
      'urls.callback',
      { urls: { callback: 'https://10.0.0.1/' } },
    ],
    [
      'a bad fingerprint',
      'INVALID_PARAMETER',
      'request_fingerprint',
      { requestFingerprint: new Uint8Array(31) },
    ],
    ['no merchant', 'MISSING_PARAMETER', 'merchant_id', { merchantId: '' }],
  ])('a refused request with %s leaves no row and no event', async (_, reason, field, order) => {
    const before = await quietCounts(harness)
    expect(await refusal(harness.create(order))).toBe(`${reason} ${field}`)
    expect(await rowCounts(harness)).toEqual(before)
  })

  it.each([
    [PaymentChannel.AGENT, [PaymentMethod.CASH, PaymentMethod.CARD]],
    [
      PaymentChannel.DIRECT_POS,
      [
        PaymentMethod.WALLET,
        PaymentMethod.CARD,
        PaymentMethod.CREDIT,
        PaymentMethod.DEBIT,
        PaymentMethod.QR_CODE,
      ],
    ],
    [
      PaymentChannel.PAYMENT_LINK,
      [PaymentMethod.WALLET, PaymentMethod.CARD, PaymentMethod.CREDIT, PaymentMethod.DEBIT],
    ],
  ])(
    'a request on channel %s is refused for a method that the channel does not offer',
    async (channel, offered) => {
      const answers = await Promise.all(
        everyMethod.map(async (paymentMethod) => {
          const payers = [payer(0n, { paymentChannel: channel, paymentMethod })]
          return harness.create({ payers }).then(
            () => 'made',
            () => refusal(harness.create({ payers })),
          )
        }),
      )
      expect(answers).toEqual(
        everyMethod.map((method) =>
          offered.includes(method) ? 'made' : 'UNSUPPORTED_CHANNEL_METHOD payers[0].payment_method',
        ),
      )
    },
  )

  it('a request of an unknown merchant is answered like an unknown key, and stores nothing', async () => {
    const before = await quietCounts(harness)
    expect(await refusal(harness.create({ merchantId: randomUUID() }))).toBe('PW_INVALID_API_KEY')
    expect(await rowCounts(harness)).toEqual(before)
  })
})

describe('an id that is not the caller’s', () => {
  it('an id of another caller is answered like an unknown one by every operation', async () => {
    const { paymentId } = await harness.create()
    const { payments, projectId, merchantId, otherMerchantId } = harness
    const foreign = [
      { projectId, merchantId, paymentId: randomUUID() },
      { projectId, merchantId: otherMerchantId, paymentId },
      { projectId: randomUUID(), merchantId, paymentId },
    ]
    for (const key of foreign) {
      expect(await refusal(payments.getPayment(key))).toBe('PAYMENT_NOT_FOUND')
      expect(await refusal(payments.cancelPayment(key))).toBe('PAYMENT_NOT_FOUND')
    }
    const refused = await refusal(payments.refundPayment({ projectId: randomUUID(), paymentId }))
    expect(refused).toBe('PAYMENT_NOT_FOUND')
  })

  it('an id is refused by its name when it is malformed', async () => {
    const { payments, projectId } = harness
    const key = { projectId, paymentId: 'nonsense' }
    for (const call of [payments.getPayment, payments.cancelPayment, payments.refundPayment]) {
      expect(await refusal(call(key))).toBe('INVALID_PARAMETER payment_id')
    }
  })

  it('an id may be any of the project for a caller who names no merchant', async () => {
    const { paymentId } = await harness.create()
    const { payment } = await harness.payments.getPayment({
      projectId: harness.projectId,
      paymentId,
    })
    expect(payment?.paymentId).toBe(paymentId)
  })
})
