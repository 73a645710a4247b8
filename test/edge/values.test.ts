// The rules of single values: what a field takes, what it refuses, and that a refusal reaches no service.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, type EdgeFixture, goodPayment, startEdge } from './harness.ts'
import { change, draftOf, goodRequests, targetOf } from './stand-ins/good-requests.ts'

let edge: EdgeFixture
beforeAll(async () => {
  edge = await startEdge()
})
afterAll(() => edge.close())

const payee = { mobile_number: '+12025550101', amount: '100.00' }
const payer = { mobile_number: '+18683501234', payment_channel: 'agent', payment_method: 'cash' }
const full = goodPayment({
  description: 'x',
  fraud_check: 0,
  fees: { pays_fees: 0, payer_covers: 100 },
  payees: [payee],
  urls: { notify: 'https://example.com/n' },
  payers: [{ ...payer, first_name: 'A', last_name: 'B', email: 'a@b.co', amount: '100.00' }],
})
const many = (length: number, item: object) => Array.from({ length }, () => ({ ...item }))
const at = (path: string) => `transaction_request.${path}`

async function pay(path: string, value: unknown) {
  const target = '/payments/request?version=2024-10-01'
  const before = edge.seen.created.length
  const seen = await call(edge.url, 'POST', target, { body: change(full, path, value) })
  return { ...seen, reached: edge.seen.created.length - before }
}

describe('a payment request', () => {
  it.each<[string, unknown]>([
    [at('id'), 'x'.repeat(64)],
    [at('id'), '😀'.repeat(32)],
    [at('amount'), '0.01'],
    [at('amount'), '999999999999999.99'],
    [at('currency'), 'JPY'],
    [at('description'), 'tab\tand\nline'],
    [at('description'), ''],
    [at('fees'), {}],
    [at('fees.payer_covers'), 0],
    [at('payees'), []],
    [at('payees[0].delay_days'), 90],
    [at('payers[0].mobile_number'), '868 350-1234'],
    [at('payers[0].mobile_number'), '18683501234'],
    [at('payers[0].first_name'), ''],
    [at('payers[0].email'), ''],
    [at('payers'), many(20, { ...payer, amount: '5' })],
    [at('urls'), {}],
    [at('urls.notify'), ''],
    [at('urls.callback'), 'http://127.0.0.1:9999/x'],
    [at('urls.notify'), 'http://example.com/n'],
    ['fraud_check', 1],
  ])('a payment request takes %s = %j', async (path, value) => {
    // The decimals of a currency hold for all amounts.
    const isYen = value === 'JPY'
    const seen = await pay(path, value)
    expect([seen.status, seen.reached]).toEqual(isYen ? [400, 0] : [200, 1])
  })

  it.each<[string, unknown, string?]>([
    [at('id'), 'x'.repeat(65)],
    [at('amount'), '100.001'],
    [at('amount'), '0.00'],
    [at('amount'), '+1'],
    [at('amount'), '1,000'],
    [at('amount'), '.5'],
    [at('amount'), '01'],
    [at('currency'), 'ttd'],
    [at('currency'), 'ZZZ'],
    [at('currency'), 'XAU'],
    [at('description'), 'x'.repeat(1_001)],
    [at('description'), 'bell\u0007'],
    [at('fraud_check'), 2],
    [at('fraud_check'), '1'],
    [at('fraud_check'), true],
    ['fraud_check', 0.5],
    [at('fees'), []],
    [at('fees.pays_fees'), '1'],
    [at('fees.payer_covers'), 101],
    [at('fees.payer_covers'), 50.5],
    [at('payees'), many(21, payee)],
    [at('payees[0].delay_days'), 91],
    [at('payees[0].delay_days'), -1],
    [at('payees[0].delay_days'), '1'],
    [at('payees[0].mobile_number'), '123'],
    [at('payees[0].amount'), '0'],
    [at('payers'), many(21, { ...payer, amount: '5' })],
    [at('payers'), {}],
    [at('payers[0]'), 'x'],
    [at('payers[0].mobile_number'), 'not a number'],
    [at('payers[0].mobile_number'), '+1'],
    [at('payers[0].first_name'), 'x'.repeat(101)],
    [at('payers[0].last_name'), 'line\nbreak'],
    [at('payers[0].email'), 'no address'],
    [at('payers[0].email'), `${'x'.repeat(250)}@b.co`],
    [at('payers[0].payment_channel'), 'pigeon'],
    [at('payers[0].payment_method'), 'CASH'],
    [at('payers[0].amount'), 100],
    [at('urls'), 'https://example.com'],
    [at('urls.notify'), 'http://10.0.0.1/n'],
    [at('urls.callback'), 'https://10.0.0.1/x'],
    [at('urls.success'), 'javascript:alert(1)'],
    [at('urls.error'), `https://example.com/${'x'.repeat(2_048)}`],
  ])('a payment request refuses %s = %j and names it', async (path, value) => {
    const seen = await pay(path, value)
    expect(seen.body).toMatchObject({ code: 400, errorCode: 'INVALID_PARAMETER' })
    expect(seen.body['message']).toContain(path)
    expect(seen.reached).toBe(0)
  })

  it('a payment request needs an amount of each payer when there are several', async () => {
    const seen = await pay(at('payers'), [{ ...payer, amount: '50' }, payer])
    expect(seen.body).toMatchObject({
      errorCode: 'MISSING_PARAMETER',
      message: 'transaction_request.payers[1].amount is required.',
    })
    expect(seen.reached).toBe(0)
  })

  it('a missing field is reported first, even when another one is malformed', async () => {
    const body = change(change(full, at('id'), 5), at('payers[0].payment_method'))
    const seen = await call(edge.url, 'POST', '/payments/request?version=2024-10-01', { body })
    expect(seen.body['message']).toBe('transaction_request.payers[0].payment_method is required.')
  })
})

/** A body or query field of a route whose service is not there yet, and a value that it refuses. */
const refusedElsewhere: Array<[string, string, unknown, string?]> = [
  ['POST /account/account_session', 'lookup_type', 'PHONE'],
  ['POST /account/account_session', 'lookup_value', '12'],
  ['POST /account/personal_account', 'callback_url', 'https://example.com/x', 'MISSING_PARAMETER'],
  ['POST /account/personal_account', 'authorisation_token', 'x'.repeat(10), 'MISSING_PARAMETER'],
  ['POST /account/personal_account', 'authorisation_token', 'x'.repeat(41)],
  ['POST /account/personal_account', 'authorisation_token', 'x'.repeat(9)],
  ['POST /account/personal_account', 'mobile_number', '12'],
  ['POST /account/personal_account', 'email', 'ama'],
  ['POST /account/business_account', 'business_name', 'x'.repeat(101)],
  ['POST /account/register_account', 'callback_url', 'http://10.0.0.1/x'],
  ['POST /account/register_account', 'callback_url', `https://example.com/${'x'.repeat(200)}`],
  ['POST /account/transaction_history', 'limit', 0],
  ['POST /account/transaction_history', 'limit', 201],
  ['POST /account/transaction_history', 'limit', '50'],
  ['POST /account/transaction_history', 'start_date', '2026-02-30'],
  ['POST /institution/transaction', 'transaction_type', 'gift'],
  ['POST /institution/transaction', 'transaction_date', 'yesterday'],
  ['POST /institution/transaction', 'amount', '0'],
  ['POST /institution/transaction', 'sender_amount', '0'],
  ['POST /institution/transaction', 'sender_currency', 'ZZZ'],
  ['POST /institution/transaction', 'transaction_date', '2026-02-20 25:00:00'],
  ['POST /institution/transaction', 'transaction_date', '2026-02-30T10:00:00.000Z'],
  ['POST /institution/transaction', 'transaction_date', '2026-02-20T10:00:00+04:00'],
  ['POST /institution/quote', 'request_currency', 'ZZZ'],
  ['POST /institution/quote', 'request_amount', '1.005'],
  ['POST /bill_payments/pay', 'receipt_id', 'PWBP-ABCDEFGH', 'RECEIPT_ID_NOT_ACCEPTED'],
  ['POST /bill_payments/pay', 'receipt_id', null, 'RECEIPT_ID_NOT_ACCEPTED'],
  ['POST /bill_payments/pay', 'id_type', 'DP', 'MISSING_PARAMETER'],
  ['POST /bill_payments/pay', 'id_type', 'PASSPORT'],
  ['POST /bill_payments/pay', 'amount', '25.001'],
  ['POST /bill_payments/pay', 'customer_mobile_no', '12'],
  ['POST /bill_payments/pay', 'metadata', 'x'],
  ['POST /bill_payments/pay', 'metadata', { a: 'bell\u0007' }],
]

const fee = (fee_amount: string, fee_currency: string, fee_type = 'total') => ({
  fee_type,
  fee_amount,
  fee_currency,
})

describe('a value of a route to come', () => {
  const goodOf = (name: string) =>
    goodRequests.find((good) => `${good.method} ${good.path}` === name) ?? goodRequests[0]!

  it.each(refusedElsewhere)('the route %s refuses %s = %j', async (name, field, value, reason) => {
    const good = goodOf(name)
    const draft = draftOf(good)
    const body = change(good.body, field, value)
    const seen = await call(edge.url, good.method, targetOf(draft), {
      headers: draft.headers,
      body,
    })
    expect(seen.body).toMatchObject({
      code: 400,
      errorCode: reason ?? 'INVALID_PARAMETER',
      ...(reason === 'RECEIPT_ID_NOT_ACCEPTED' ? { field } : {}),
    })
  })

  it.each<[string, unknown, string, string?]>([
    ['fees', { total: 1 }, 'fees.total'],
    ['fees', [{ fee_type: 'x' }], 'fees[0].fee_amount', 'MISSING_PARAMETER'],
    ['fees', [fee('1.001', 'USD')], 'fees[0].fee_amount'],
    ['fees', [fee('0', 'USD'), fee('1', 'ZZZ')], 'fees[1].fee_currency'],
    ['fees', 'x', 'fees'],
    ['debit_party', { mobile_number: 5 }, 'debit_party.mobile_number'],
    ['debit_party', { mobile_number: '12' }, 'debit_party.mobile_number'],
    ['debit_party', { currency: 'usd' }, 'debit_party.currency'],
    ['credit_party', { currency: 'ZZZ' }, 'credit_party.currency'],
    ['credit_party', [{ key: 'a', value: 1 }], 'credit_party[0].value'],
    ['credit_party', [{ key: 'a' }], 'credit_party[0].value', 'MISSING_PARAMETER'],
    ['credit_party', [{ key: 'currency', value: 'ZZZ' }], 'credit_party[0].value'],
    ['credit_party', [{ key: 'mobile_number', value: '12' }], 'credit_party[0].value'],
    ['credit_party', [{ key: 'account_type', value: 'two\nlines' }], 'credit_party[0].value'],
    ['credit_party', [{ key: 'unknown', value: 'two\nlines' }], 'credit_party[0].value'],
    ['credit_party', [{ key: 'metadata', value: 'bell\u0007' }], 'credit_party[0].value'],
    [
      'credit_party',
      [
        { key: 'a', value: '' },
        { key: 'b\u0000', value: '' },
      ],
      'credit_party[1].key',
    ],
  ])(
    'a bad value in either shape of a transfer is named: %s = %j',
    async (field, value, path, reason) => {
      const good = goodOf('POST /institution/transaction')
      const body = change(good.body, field, value)
      const seen = await call(edge.url, 'POST', targetOf(draftOf(good)), { body })
      expect(seen.body).toMatchObject({ code: 400, errorCode: reason ?? 'INVALID_PARAMETER' })
      expect(String(seen.body['message']).startsWith(`${path} `)).toBe(true)
    },
  )

  it.each<[string, unknown]>([
    ['fees', [fee('0', 'USD'), fee('1.5', 'TTD', 'tip')]],
    ['debit_party', { mobile_number: '868 350-1234', currency: 'TTD', metadata: 'two\nlines' }],
    ['credit_party', [{ key: 'mobile_number', value: '' }]],
    ['credit_party', [{ key: 'metadata', value: 'two\nlines' }]],
    ['transaction_date', '2026-02-20T10:00:00.5Z'],
    ['transaction_date', '2026-02-20T10:00:00.123456+00:00'],
    ['session_token_enc', 'A'.repeat(16_384)],
  ])('a good value in either shape of a transfer passes: %s = %j', async (field, value) => {
    const good = goodOf('POST /institution/transaction')
    const body = change(good.body, field, value)
    const seen = await call(edge.url, 'POST', targetOf(draftOf(good)), { body })
    expect(seen.body['code']).toBe(200)
  })

  it.each<[unknown, number]>([
    [{ note: 'two\nlines' }, 200],
    ['two\nlines', 200],
    [7, 400],
    [{ note: 'bell\u0007' }, 400],
  ])('the metadata of a quoted party may be a text or an object: %j', async (metadata, code) => {
    const good = goodOf('POST /quote')
    const body = change(good.body, 'debit_party', { metadata })
    const seen = await call(edge.url, 'POST', targetOf(draftOf(good)), { body })
    expect(seen.body['code']).toBe(code)
  })

  it('a value of a query is checked too', async () => {
    const headers = draftOf(goodOf('GET /account/balance')).headers
    const get = (target: string) => call(edge.url, 'GET', target, { headers })
    const v = 'version=2024-10-01'
    expect((await get(`/account/balance?${v}&mobile_number=12`)).status).toBe(400)
    expect((await get(`/account/balance?${v}&mobile_number=+12025550100`)).status).toBe(200)
    const history = `/institution/transaction_history?${v}&mobile_number=12025550100`
    expect((await get(`${history}&start_datetime=2026-13-01`)).status).toBe(400)
    expect((await get(`${history}&start_datetime=2026-01-01%2000:00:00`)).status).toBe(200)
  })

  it('a quote is refused unless the currencies of both parties exist', async () => {
    const good = goodOf('POST /quote')
    for (const party of ['debit_party', 'credit_party']) {
      const body = change(good.body, party, { currency: 'ZZZ' })
      const seen = await call(edge.url, 'POST', targetOf(draftOf(good)), { body })
      expect(seen.body['message']).toBe(
        `${party}.currency must be an ISO 4217 currency code, such as "TTD".`,
      )
    }
  })

  it('a quote in an unknown currency is refused with the plain three-field error', async () => {
    const good = goodOf('POST /quote')
    const body = change(good.body, 'request_currency', 'ZZZ')
    const seen = await call(edge.url, 'POST', targetOf(draftOf(good)), { body })
    expect(seen.body).toEqual({
      status: 'error',
      code: 400,
      message: 'request_currency must be an ISO 4217 currency code, such as "TTD".',
    })
  })
})
