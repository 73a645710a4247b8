// What merchants read about a payment, field by field, and that pushes say what the status response says.
import { describe, expect, it } from 'vitest'
import { renderNotice } from './notice.ts'
import {
  type PaymentMessage,
  readPayment,
  renderCallback,
  renderCreated,
  renderDetails,
  renderStatus,
} from './snapshot.ts'
import {
  noticeKinds,
  numberOf,
  type PayerState,
  type PaymentState,
  payerStates,
  paymentStates,
} from './words.ts'

const at = (seconds: number) => ({ seconds: BigInt(seconds), nanos: 250_000_000 })
const occurredTime = new Date('2026-01-02T03:04:05.678Z')

function message(
  state: PaymentState = 'Pending',
  payerWords: PayerState[] = ['Pending'],
): PaymentMessage {
  return {
    paymentId: 'p-1',
    transactionId: 'order 7',
    amountMinor: 10_000n * BigInt(payerWords.length),
    currency: 'TTD',
    state: numberOf(paymentStates, state),
    fraudCheckStatus: 1,
    fees: {
      totalMinor: 340n,
      cardProcessingMinor: 290n,
      platformProcessingMinor: 50n,
      agentProcessingMinor: 0n,
      convenienceMinor: 0n,
      payerPaysMinor: 0n,
      payeePaysMinor: 0n,
      merchantPaysMinor: 340n,
    },
    createTime: at(1_767_323_045),
    updateTime: at(1_767_323_045),
    expireTime: at(1_767_409_445),
    payers: payerWords.map((word) => ({
      mobileNumber: '868 350 1234',
      firstName: 'Ama',
      lastName: 'Mensah',
      paymentChannel: 3,
      paymentMethod: 2,
      amountMinor: 10_000n,
      feeMinor: 0n,
      tipMinor: 0n,
      taxMinor: 0n,
      convenienceFeeMinor: 0n,
      state: numberOf(payerStates, word),
      expireTime: at(1_767_409_445),
      linkToken: 'token',
    })),
    payees: [
      {
        mobileNumber: '+18683500000',
        amountMinor: 10_000n,
        feeMinor: 0n,
        delayDays: 2,
        feesCovered: true,
      },
    ],
  }
}

describe('the create response', () => {
  it('the create response has the id, the amounts and one link per payer', () => {
    expect(renderCreated(readPayment(message()), 'https://pay.example')).toEqual({
      id: 'p-1',
      transaction_id: 'order 7',
      amount: '100.00',
      fraud_check_status: 'skipped',
      payers: [{ amount: '100.00', status: 'Pending', url: 'https://pay.example/pay/token' }],
    })
  })

  it('the create response is the same when it is repeated after the payment was made', () => {
    const now = renderCreated(readPayment(message()), 'https://pay.example')
    const later = renderCreated(readPayment(message('paid', ['paid'])), 'https://pay.example')
    expect(later).toEqual(now)
  })

  it('the create response shows a request that the fraud rules stopped as failed and without links', () => {
    const stopped = message('Failed', ['Failed'])
    stopped.fraudCheckStatus = 3
    for (const payer of stopped.payers) payer.linkToken = ''
    expect(renderCreated(readPayment(stopped), 'https://pay.example')).toMatchObject({
      fraud_check_status: 'failed',
      payers: [{ status: 'Failed', url: null }],
    })
  })
})

describe('the cancel response', () => {
  it('the cancel response has every documented field', () => {
    const details = renderDetails(readPayment(message('Cancelled', ['Cancelled'])), 'https://p')
    expect(details).toEqual({
      id: 'p-1',
      transaction_id: 'order 7',
      amount: '100.00',
      currency: 'TTD',
      status: 'Cancelled',
      fraud_check_status: 'skipped',
      payments_status: { paid: '0.00 TTD', remaining: '100.00 TTD', metadata: [] },
      fees: {
        total: '3.40',
        card_processing: '2.90',
        platform_processing: '0.50',
        agent_processing: '0.00',
        payer_pays: '0.00',
        payee_pays: '0.00',
        merchant_pays: '3.40',
        convenience: '0.00',
      },
      timestamps: {
        created_time: '2026-01-02 03:04:05',
        updated_time: '2026-01-02 03:04:05',
        expire_time: '2026-01-03 03:04:05',
      },
      payees: [
        {
          mobile_number: '+18683500000',
          amount: '100.00',
          delay_days: 2,
          fees_covered: 1,
          fee: '0.00',
        },
      ],
      payers: [
        {
          mobile_number: '868 350 1234',
          amount: '100.00',
          payment_channel: 'payment_link',
          payment_method: 'card',
          fee: '0.00',
          tip: '0.00',
          tax: '0.00',
          convenience_fee: '0.00',
          status: 'Cancelled',
          expire_time: '2026-01-03 03:04:05',
          metadata: '',
          url: 'https://p/pay/token',
          expire_date_time: '2026-01-03T03:04:05.250Z',
        },
      ],
    })
  })
})

describe('the status response', () => {
  it.each<[PaymentState, PayerState[], string]>([
    ['Pending', ['Pending', 'Pending'], 'pending'],
    ['Pending', ['Pending', 'Processing'], 'processing'],
    ['Partially_paid', ['paid', 'Pending'], 'processing'],
    ['paid', ['paid', 'paid'], 'succeeded'],
    ['Cancelled', ['Cancelled', 'Cancelled'], 'cancelled'],
    ['Expired', ['Expired', 'Processing'], 'expired'],
    ['Failed', ['Failed', 'Failed'], 'failed'],
    ['Refunded', ['Refunded', 'Refunded'], 'refunded'],
  ])('the status response of a %s request with payers %j says %s', (state, payers, word) => {
    const status = renderStatus(readPayment(message(state, payers)))
    expect(status.transaction_request).toEqual({ id: 'order 7', status: word })
    expect(status.payment_details.status).toBe(state)
    expect(status.payers.map((payer) => payer.status)).toEqual(payers)
  })

  it('the status response adds up what is paid and what remains', () => {
    const status = renderStatus(readPayment(message('Partially_paid', ['paid', 'Pending'])))
    expect(status.payment_details.payments_status).toEqual({
      paid: '100.00 TTD',
      remaining: '100.00 TTD',
      metadata: [],
    })
  })
})

describe('a callback', () => {
  it('a callback is the status response with a sequence, a time and its main parts at top level', () => {
    const payment = readPayment(message('paid', ['paid']))
    const status = renderStatus(payment)
    const { payments_status, fees, timestamps, payees } = status.payment_details
    expect(renderCallback(payment, 2, occurredTime)).toEqual({
      status: 'paid',
      sequence: 2,
      timestamp: '2026-01-02T03:04:05.678Z',
      ...status,
      payments_status,
      fees,
      timestamps,
      payees,
    })
  })
})

describe('a notify push', () => {
  it('a notify push shows what each payer owes, the amount being a number with every decimal', () => {
    const text = renderNotice(
      readPayment(message()),
      { kind: 'payment_initiated', index: 0 },
      occurredTime,
    )
    expect(text).toContain('"amount":100.00,')
    expect(JSON.parse(text)).toEqual({
      event_type: 'payment_initiated',
      transaction_id: 'order 7',
      status: 'INITIATED',
      timestamp: '2026-01-02T03:04:05.678Z',
      description: 'A payment link was issued to the payer.',
      payer: { name: 'Ama Mensah', mobile_number: '868 350 1234', amount: 100, currency: 'TTD' },
    })
  })

  it('a notify push contains the exact amount even when no float can hold it', () => {
    const large = message()
    const [payer] = large.payers
    if (payer !== undefined) payer.amountMinor = 99_999_999_999_999_999n
    const text = renderNotice(
      readPayment(large),
      { kind: 'payment_completed', index: 0 },
      occurredTime,
    )
    expect(text).toContain('"amount":999999999999999.99,"payment_method":"card","currency":"TTD"')
  })

  it('a notify push can be read from an event that has no times of its own', () => {
    const fresh = message()
    delete fresh.createTime
    expect(readPayment(fresh, occurredTime).createTime).toEqual(occurredTime)
    expect(() => readPayment(fresh)).toThrow(RangeError)
  })

  it.each(noticeKinds)('a notify push of kind %s is about a payer or a payee', (kind) => {
    const body = JSON.parse(renderNotice(readPayment(message()), { kind, index: 0 }, occurredTime))
    expect(body.event_type).toBe(kind)
    expect(Object.keys(body).at(-1)).toBe(kind.startsWith('payout') ? 'payee' : 'payer')
    expect(body.status).toMatch(/^[A-Z]+$/)
  })
})
