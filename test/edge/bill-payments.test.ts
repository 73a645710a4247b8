// What clients of the bill payment routes see: exact fields, codes and headers for every outcome.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Reason } from '#core/errors/errors.ts'
import { BillPaymentState, RetryCategory } from '#gen/payweave/billing/v1/billing_pb.js'
import { call, type EdgeFixture, goodHeaders, startEdge } from './harness.ts'
import { billId, newSeenBills } from './stand-ins/billing.ts'

const version = 'version=2026-07-01'
const body = {
  biller_code: 'DEMO_WATER',
  product_code: 'BILL',
  amount: '25.00',
  currency: 'USD',
  customer_reference: 'W1234567',
  external_reference: 'order-1',
}

let edge: EdgeFixture
beforeAll(async () => {
  edge = await startEdge()
})
afterAll(() => edge.close())
beforeEach(() => {
  Object.assign(edge.seen.bills, newSeenBills(), { refusal: undefined })
})

function pay(changed: object = {}, key = 'key-1') {
  return call(edge.url, 'POST', `/bill_payments/pay?${version}`, {
    headers: { ...goodHeaders(), 'Idempotency-Key': key },
    body: { ...body, ...changed },
  })
}

function read(path: string, id = billId) {
  return call(edge.url, 'GET', `/bill_payments/${path}?${version}&transaction_id=${id}`)
}

describe('POST /bill_payments/pay', () => {
  it('POST /bill_payments/pay answers 201 with the fields of the contract and no others', async () => {
    const seen = await pay()
    expect(seen.status).toBe(201)
    expect(seen.body).toEqual({
      status: 'success',
      code: 201,
      message: expect.any(String),
      transaction_id: billId,
      normalized_status: 'SUCCESS',
      receipt_id: 'PWBP-0A1B2C3D',
      external_reference: 'order-1',
      client_receipt_id: null,
    })
    expect(seen.headers.has('idempotency-replayed')).toBe(false)
    expect(edge.seen.bills.paid[0]).toMatchObject({
      idempotencyKey: 'key-1',
      amount: { currency: 'USD', minorUnits: 2_500n },
      customerReference: 'W1234567',
    })
  })

  it('POST /bill_payments/pay says that an answer is replayed', async () => {
    edge.seen.bills.replayed = true
    expect((await pay()).headers.get('idempotency-replayed')).toBe('true')
  })

  it('a definitive refusal is returned with its code and retry category', async () => {
    edge.seen.bills.answer = {
      state: BillPaymentState.FAILED,
      receiptId: '',
      failureCode: 'BILL_ALREADY_PAID',
      retryCategory: RetryCategory.NON_RETRIABLE,
    }
    const seen = await pay()
    expect(seen.status).toBe(201)
    expect(seen.body).toMatchObject({
      normalized_status: 'FAILED',
      receipt_id: null,
      failure_code: 'BILL_ALREADY_PAID',
      retry_category: 'NON_RETRIABLE',
    })
  })

  it('a payment with an unknown outcome is 202 without a status', async () => {
    edge.seen.bills.answer = { state: BillPaymentState.PENDING, receiptId: '' }
    const seen = await pay()
    expect(seen.status).toBe(202)
    expect(seen.body).toMatchObject({ code: 202, normalized_status: null, receipt_id: null })
  })

  it('the fingerprint of a body ignores the order of fields and depends on their text', async () => {
    await pay()
    const reversed = Object.fromEntries(Object.entries(body).toReversed())
    await pay(reversed)
    await pay({ amount: '25.0' })
    await pay({ unknown_field: 'ignored' })
    const prints = edge.seen.bills.paid.map(({ fingerprint }) =>
      Buffer.from(fingerprint).toString('hex'),
    )
    expect(prints[1]).toBe(prints[0])
    expect(prints[2]).not.toBe(prints[0])
    expect(prints[3]).toBe(prints[0])
  })

  it('an absent client_receipt_id is distinguished from an empty one', async () => {
    await pay({ client_receipt_id: '' })
    await pay()
    expect(edge.seen.bills.paid.map((request) => request.clientReceiptId)).toEqual(['', undefined])
  })

  it.each<[Reason, number, string?]>([
    ['BILLER_NOT_FOUND', 404],
    ['PRODUCT_NOT_FOUND', 404],
    ['CUSTOMER_REFERENCE_INVALID', 400, 'customer_reference'],
    ['AMOUNT_OUT_OF_RANGE', 400, 'amount'],
    ['CURRENCY_NOT_SUPPORTED', 400, 'currency'],
    ['INSUFFICIENT_FUNDS', 409],
    ['IDEMPOTENCY_KEY_CONFLICT', 409],
    ['IDEMPOTENCY_KEY_IN_PROGRESS', 409],
  ])('POST /bill_payments/pay forwards %s', async (reason, status, field) => {
    edge.seen.bills.refusal = reason
    const seen = await pay()
    expect(seen.status).toBe(status)
    expect(Object.keys(seen.body).toSorted()).toEqual([
      'code',
      'doc_url',
      'errorCode',
      ...(field === undefined ? [] : ['field']),
      'message',
      'status',
      'timestamp',
    ])
    expect(seen.body).toMatchObject({ code: status, errorCode: reason })
    expect(seen.body['field']).toBe(field)
    expect(JSON.stringify(seen.body)).not.toContain('an inner word')
    const wait = reason === 'IDEMPOTENCY_KEY_IN_PROGRESS' ? '1' : null
    expect(seen.headers.get('retry-after')).toBe(wait)
  })

  it('POST /bill_payments/pay refuses metadata that is too long once its numbers are written in full', async () => {
    const numbers = `[${'1e20,'.repeat(3_500)}1]`
    const seen = await call(edge.url, 'POST', `/bill_payments/pay?${version}`, {
      headers: { ...goodHeaders(), 'Idempotency-Key': 'key-1' },
      body: JSON.stringify({ ...body, metadata: {} }).replace('{}', `{"a":${numbers}}`),
    })
    const { errorCode, field } = seen.body
    expect([seen.status, errorCode, field]).toEqual([400, 'INVALID_PARAMETER', 'metadata'])
    expect(edge.seen.bills.paid).toEqual([])
  })

  it('POST /bill_payments/pay takes no id_type without a number, and no number it could not echo', async () => {
    expect((await pay({ id_type: 'DP' })).body['errorCode']).toBe('MISSING_PARAMETER')
    expect((await pay({ id_type: 'XX', id_number: '1' })).body['errorCode']).toBe(
      'INVALID_PARAMETER',
    )
    expect(edge.seen.bills.paid).toEqual([])
  })
})

describe('GET /bill_payments/status', () => {
  it('GET /bill_payments/status answers all its fields, null where there is nothing', async () => {
    const seen = await read('status')
    expect(seen.body).toEqual({
      status: 'success',
      code: 200,
      message: expect.any(String),
      transaction_id: billId,
      normalized_status: 'SUCCESS',
      receipt_id: 'PWBP-0A1B2C3D',
      external_reference: 'order-1',
      client_receipt_id: null,
      failure_code: null,
      retry_category: null,
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    })
  })

  it('an unknown bill payment is 404', async () => {
    expect((await read('status', 'bill_other')).body['errorCode']).toBe('BILL_PAYMENT_NOT_FOUND')
  })
})

describe('GET /bill_payments/receipt', () => {
  it('GET /bill_payments/receipt answers the receipt, without a message', async () => {
    const seen = await read('receipt')
    expect(seen.body).toEqual({
      status: 'success',
      code: 200,
      transaction_id: billId,
      receipt_id: 'PWBP-0A1B2C3D',
      normalized_status: 'SUCCESS',
      amount: '25.00',
      currency: 'USD',
      biller_code: 'DEMO_WATER',
      product_code: 'BILL',
      customer_reference: 'W1234567',
      external_reference: 'order-1',
      client_receipt_id: null,
      timestamp: expect.stringMatching(/Z$/),
    })
  })

  it.each([BillPaymentState.PENDING, BillPaymentState.FAILED])(
    'GET /bill_payments/receipt is not there before success (state %i)',
    async (state) => {
      edge.seen.bills.answer = { state, receiptId: '' }
      const seen = await read('receipt')
      expect(seen.status).toBe(409)
      expect(seen.body['errorCode']).toBe('RECEIPT_NOT_AVAILABLE')
    },
  )
})
