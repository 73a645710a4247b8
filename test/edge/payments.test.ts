// POST /payments/request and its two companions at the edge: what reaches the service, and what the client sees.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { PaymentChannel, PaymentMethod } from '#gen/payweave/payments/v1/payments_pb.js'
import {
  apiKey,
  call,
  type EdgeFixture,
  goodHeaders,
  goodPayment,
  merchantId,
  paymentId,
  startEdge,
} from './harness.ts'

let edge: EdgeFixture
beforeAll(async () => {
  edge = await startEdge()
})
afterAll(() => edge.close())
beforeEach(() => {
  edge.seen.created.length = 0
  edge.seen.onCreate = undefined
})

const create = (body: unknown, headers = goodHeaders()) =>
  call(edge.url, 'POST', '/payments/request?version=2024-10-01', { headers, body })

describe('POST /payments/request', () => {
  it('POST /payments/request answers the created payment in the envelope', async () => {
    const seen = await create(goodPayment(), goodHeaders({ 'PW-request-id': paymentId }))
    expect(seen.body).toEqual({
      status: 'success',
      code: 200,
      message: 'Payment request created successfully.',
      request_id: paymentId,
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      payment_details: {
        id: paymentId,
        transaction_id: 'order-1',
        amount: '100.00',
        fraud_check_status: 'skipped',
        payers: [{ amount: '0.00', status: 'Pending', url: 'http://127.0.0.1:8080/pay/link-0' }],
      },
      observed_client_ip: { request_ip: '127.0.0.1', socket_remote_address: '127.0.0.1' },
    })
    expect(seen.status).toBe(200)
    expect(seen.headers.get('pw-request-id')).toBe(paymentId)
    expect(seen.headers.get('cache-control')).toBe('no-store')
  })

  it('POST /payments/request hands the whole request on in exact units', async () => {
    await create({
      ...goodPayment({
        description: 'two\nlines',
        fraud_check: 1,
        fees: { pays_fees: 1, payer_covers: 40 },
        payers: [
          {
            mobile_number: '8683501234',
            first_name: 'Ama',
            last_name: 'Mensah',
            email: 'ama@example.com',
            payment_channel: 'direct_pos',
            payment_method: 'qr_code',
            amount: '60.5',
          },
          {
            mobile_number: '18683501235',
            payment_channel: 'agent',
            payment_method: 'cash',
            amount: '39.5',
          },
        ],
        payees: [{ mobile_number: '+12025550101', amount: '100', delay_days: 3 }],
        urls: { notify: 'https://example.com/n', callback: 'http://127.0.0.1:9000/c' },
        unknown: { anything: [1, 2] },
      }),
      fraud_check: 0,
    })
    const [request] = edge.seen.created
    expect(request).toMatchObject({
      merchantId,
      transactionId: 'order-1',
      amountMinor: 10_000n,
      currency: 'TTD',
      description: 'two\nlines',
      fraudCheck: true,
      feeTerms: { paysFees: true, payerCoversPercent: 40 },
      payers: [
        {
          mobileNumber: '8683501234',
          mobileNumberE164: '+18683501234',
          firstName: 'Ama',
          lastName: 'Mensah',
          email: 'ama@example.com',
          paymentChannel: PaymentChannel.DIRECT_POS,
          paymentMethod: PaymentMethod.QR_CODE,
          amountMinor: 6_050n,
        },
        {
          mobileNumberE164: '+18683501235',
          paymentChannel: PaymentChannel.AGENT,
          paymentMethod: PaymentMethod.CASH,
          amountMinor: 3_950n,
        },
      ],
      payees: [{ mobileNumberE164: '+12025550101', amountMinor: 10_000n, delayDays: 3 }],
      urls: { notify: 'https://example.com/n', callback: 'http://127.0.0.1:9000/c', success: '' },
    })
  })

  it('POST /payments/request reads a top-level fraud_check only when the inner one is absent', async () => {
    await create({ ...goodPayment(), fraud_check: 1 })
    await create({ ...goodPayment({ fraud_check: 0 }), fraud_check: 1 })
    expect(edge.seen.created.map((request) => request.fraudCheck)).toEqual([true, false])
  })

  it('a repeat has the same fingerprint, also with reordered and unknown fields', async () => {
    const body = goodPayment()
    const inner = body['transaction_request'] as object
    const turned = Object.fromEntries(Object.entries({ ...inner, extra: 1 }).toReversed())
    await create(body)
    await create({ extra: true, transaction_request: turned, api_key: apiKey })
    await create(goodPayment({ amount: '100.0' }))
    const [first, second, third] = edge.seen.created.map((request) =>
      Buffer.from(request.requestFingerprint).toString('hex'),
    )
    expect(second).toBe(first)
    expect(third).not.toBe(first)
  })

  it('a refusal of the service is returned with the path of the field', async () => {
    edge.seen.onCreate = () => {
      throw new Failure('UNSUPPORTED_CHANNEL_METHOD', 'payers[0].payment_method is not offered', {
        details: { field: 'payers[0].payment_method' },
      })
    }
    const seen = await create(goodPayment())
    expect(seen.status).toBe(400)
    expect(seen.body).toMatchObject({
      code: 400,
      errorCode: 'UNSUPPORTED_CHANNEL_METHOD',
      message: 'transaction_request.payers[0].payment_method is not offered.',
    })
  })
})

describe('an id that no payment has', () => {
  const unknown = '0198c000-0000-7000-8000-0000000000ff'
  const ids = [unknown, 'demo', `${paymentId}0`, "' or 1=1", '💥']
  const reading = (id: string) => {
    const query = new URLSearchParams({ version: '2024-10-01', api_key: apiKey })
    query.set('payment_details_id', id)
    return call(edge.url, 'GET', `/payments/status?${query.toString()}`)
  }
  const cancelling = (id: string) => {
    const body = { api_key: apiKey, payment_details_id: id }
    return call(edge.url, 'POST', '/payments/cancel?version=2024-10-01', { body })
  }

  it.each([
    ['GET /payments/status', reading],
    ['POST /payments/cancel', cancelling],
  ])(
    'an id that no payment has gets the same answer from %s, whether it could be one of ours or not',
    async (_, ask) => {
      for (const id of ids) {
        const { status, body } = await ask(id)
        expect(status).toBe(404)
        expect(body).toMatchObject({
          status: 'error',
          code: 404,
          errorCode: 'PAYMENT_NOT_FOUND',
          message: 'There is no such payment request.',
        })
      }
    },
  )
})
