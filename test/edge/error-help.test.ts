// What helps a client to correct a request: every missing field, the form of a value, the field and page of an error, unknown fields.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, type EdgeFixture, goodPayment, startEdge } from './harness.ts'
import { change, draftOf, goodRequests, targetOf } from './stand-ins/good-requests.ts'

let edge: EdgeFixture
beforeAll(async () => {
  edge = await startEdge()
})
afterAll(() => edge.close())

const target = '/payments/request?version=2024-10-01'
type Body = Record<string, unknown>

const pay = (body: Body) => call(edge.url, 'POST', target, { body })

describe('a body without required fields', () => {
  it('a body without required fields is refused with all of them in the message, and the first in field', async () => {
    const payers = [{ payment_channel: 'agent' }, { mobile_number: '+18683501234' }]
    const { body } = await pay({ transaction_request: { currency: 'TTD', payers } })
    expect(body).toMatchObject({ errorCode: 'MISSING_PARAMETER', field: 'api_key' })
    expect(body['message']).toBe(
      `${[
        'api_key',
        'transaction_request.id',
        'transaction_request.amount',
        'transaction_request.payers[0].mobile_number',
        'transaction_request.payers[0].payment_method',
        'transaction_request.payers[1].payment_channel',
        'transaction_request.payers[1].payment_method',
        'transaction_request.payers[0].amount',
      ].join(', ')} and transaction_request.payers[1].amount are required.`,
    )
  })

  it('a body without required fields names no more items of a list than the list may have', async () => {
    const payers = Array.from({ length: 5_000 }, () => ({}))
    const { body } = await pay({ transaction_request: { payers } })
    expect(body['message']).toContain('payers[19].')
    expect(body['message']).not.toContain('payers[20].')
  })

  it('a body without required fields names every payer without an amount', async () => {
    const payer = {
      mobile_number: '+18683501234',
      payment_channel: 'agent',
      payment_method: 'cash',
    }
    const { body } = await pay(goodPayment({ payers: [payer, payer] }))
    expect(body['message']).toBe(
      'transaction_request.payers[0].amount and transaction_request.payers[1].amount are required.',
    )
  })
})

describe('a field that another one makes required', () => {
  it.each([
    ['/bill_payments/pay', { id_type: 'DP' }, 'currency', 'currency and id_number'],
    [
      '/account/personal_account',
      { callback_url: 'https://example.com/x' },
      'email',
      'email and authorisation_token',
    ],
    [
      '/account/personal_account',
      { authorisation_token: 'x'.repeat(10) },
      'email',
      'email and callback_url',
    ],
  ])(
    'a field of %s that %j makes required is named with the others that are missing',
    async (route, more, absent, named) => {
      const good = goodRequests.find(({ path, body }) => path === route && body !== undefined)!
      const draft = draftOf(good)
      const { headers } = draft
      const body = { ...(change(good.body, absent) as Body), ...more }
      const seen = await call(edge.url, 'POST', targetOf(draft), { headers, body })
      expect(seen.body).toMatchObject({ errorCode: 'MISSING_PARAMETER', field: absent })
      expect(seen.body['message']).toBe(`${named} are required.`)
    },
  )
})

it.each([
  [
    'fees',
    [
      { fee_type: 'sender_pays', fee_amount: '1.00', fee_currency: 'TTD' },
      { fee_type: 'senders_pays', fee_amount: '1.00', fee_currency: 'TTD' },
    ],
    'fees%5B1%5D.fee_type',
  ],
  [
    'debit_party',
    [
      { key: 'mobile_number', value: '+12025550100' },
      { key: 'organisation_id', value: 'X' },
    ],
    'debit_party%5B1%5D.key',
  ],
])('a name in the list %s that the API does not know is named in PW-Warning', async (...given) => {
  const [field, value, named] = given
  const good = goodRequests.find(({ path, body }) => path === '/institution/transaction' && body)!
  const draft = draftOf(good)
  const { headers } = draft
  const asked = { headers, body: change(good.body, field, value) as Body }
  const seen = await call(edge.url, 'POST', targetOf(draft), asked)
  expect(seen.headers.get('pw-warning')).toBe(named)
})

describe('a value of another form', () => {
  it.each([
    ['transaction_request.amount', '1,5', /such as "100\.00", of at most 15 digits/],
    ['transaction_request.amount', '1.005', /at most 2 decimals in TTD/],
    ['transaction_request.payers[0].mobile_number', '12', /E\.164, such as "\+18683501234"/],
    ['transaction_request.currency', 'TT', /ISO 4217 currency code, such as "TTD"/],
  ])(
    'a value of another form is refused with the form that it must have: %s',
    async (field, value, form) => {
      const { body } = await pay(change(goodPayment(), field, value) as Body)
      expect(body).toMatchObject({ errorCode: 'INVALID_PARAMETER', field })
      expect(body['message']).toMatch(form)
    },
  )

  it.each(['yesterday', '2026-02-30'])(
    'a date of another form is refused with the form of a date: %s',
    async (day) => {
      const good = goodRequests.find(({ path }) => path === '/account/transaction_history')!
      const draft = draftOf(good)
      const body = change(good.body, 'start_date', day)
      const seen = await call(edge.url, good.method, targetOf(draft), {
        headers: draft.headers,
        body,
      })
      expect(seen.body).toMatchObject({ errorCode: 'INVALID_PARAMETER', field: 'start_date' })
      expect(seen.body['message']).toContain(
        'YYYY-MM-DD HH:mm:ss in UTC, such as "2026-03-01 14:30:00"',
      )
    },
  )

  it('a header of another form is refused with the form, and field is its name', async () => {
    const headers = { ...draftOf(goodRequests[0]!).headers, 'pw-request-date': 'now' }
    const { body } = await call(edge.url, 'POST', target, { headers, body: goodPayment() })
    expect(body).toMatchObject({ errorCode: 'INVALID_HEADER', field: 'PW-request-date' })
    expect(body['message']).toContain('PW-request-date (YYYY-MM-DD HH:mm:ss in UTC)')
  })
})

describe('a refusal', () => {
  it('a refusal leads to a page that has its code', async () => {
    const { body } = await pay({})
    const url = new URL(String(body['doc_url']))
    expect(url.hash).toBe('#MISSING_PARAMETER')
    const page = await fetch(`${edge.url}${url.pathname}`)
    expect([page.status, page.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=utf-8',
    ])
    expect(await page.text()).toContain('<h2 id="MISSING_PARAMETER">')
  })

  it('a refusal of a query has its first missing parameter in field', async () => {
    const { method, path, headers } = draftOf(
      goodRequests.find(({ path }) => path === '/payments/status')!,
    )
    const { body } = await call(edge.url, method, path, { headers })
    expect(body['field']).toBe('version')
  })

  it('a refusal of a quote has neither field nor doc_url', async () => {
    const { body } = await call(edge.url, 'POST', '/quote?version=2024-10-01', { body: {} })
    expect(Object.keys(body).toSorted()).toEqual(['code', 'message', 'status'])
  })
})

describe('unknown fields of a body', () => {
  const warningOf = async (body: Record<string, unknown>) => {
    const seen = await pay(body)
    return { status: seen.status, warning: seen.headers.get('pw-warning') }
  }

  it('unknown fields of a body are named by their paths beside a success', async () => {
    const body = change(
      goodPayment({ url: {} }),
      'transaction_request.payers[0].nick name',
      'x',
    ) as Body
    expect(await warningOf({ ...body, extra: 1 })).toEqual({
      status: 200,
      warning: 'transaction_request.payers%5B0%5D.nick%20name, transaction_request.url, extra',
    })
  })

  it('unknown fields of a body are named beside a refusal too', async () => {
    const seen = await warningOf({ apikey: 'x' })
    expect(seen).toEqual({ status: 400, warning: 'apikey' })
  })

  it('unknown fields of a body are not named when there are none', async () => {
    expect(await warningOf(goodPayment())).toEqual({ status: 200, warning: null })
  })

  it('unknown texts and files of a form are named', async () => {
    const good = goodRequests.find(({ path }) => path === '/account/personal_account')!
    const draft = draftOf(good)
    const body = new FormData()
    for (const [name, value] of Object.entries(good.body as Body)) body.append(name, String(value))
    body.append('nick name', 'x')
    body.append('passport', new Blob(['%PDF-1.7']), 'a.pdf')
    const { headers } = draft
    const seen = await call(edge.url, 'POST', targetOf(draft), { headers, body })
    expect(seen.status, seen.text).toBe(200)
    expect(seen.headers.get('pw-warning')).toBe('nick%20name, passport')
  })

  it('the header of unknown fields names at most ten, in 1 KiB, and is always well formed', async () => {
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`x${index}`, 1]))
    expect((await warningOf({ ...goodPayment(), ...many })).warning?.split(', ')).toHaveLength(10)
    const long = Object.fromEntries(
      Array.from({ length: 9 }, (_, index) => [`é${index}`.repeat(40), 1]),
    )
    const { warning } = await warningOf({ ...goodPayment(), ...long })
    expect(warning?.length).toBeLessThanOrEqual(1_024)
    expect(() => decodeURIComponent(warning ?? '%')).not.toThrow()
    const huge = await warningOf({ ...goodPayment(), ['é'.repeat(3_000)]: 1 })
    expect(huge.status).toBe(200)
    expect(decodeURIComponent(huge.warning ?? '%')).toMatch(/^é+$/)
    expect(huge.warning?.length).toBeGreaterThan(1_000)
    expect(huge.warning?.length).toBeLessThanOrEqual(1_024)
  })
})
