// The merchant routes as a shop uses them: list, follow and refund a payment, see its pushes and send one again.
import { describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import {
  type ApiResponse,
  createdOf,
  isoPattern,
  type Json,
  merchant,
  order,
  payer,
  person,
  receiver,
  sharedMesh,
  strangersNumber,
  unique,
} from '../harness.ts'

const mesh = sharedMesh()
const shop = merchant(mesh)
const version = '2026-12-01'

type Filters = Record<string, string>
const get = (path: string, query: Filters = {}, asked = shop, apiKey = asked.apiKey) =>
  asked.call('GET', path, { query: { version, api_key: apiKey, ...query } })
const post = (path: string, body: Json, asked = shop, apiKey = asked.apiKey) =>
  asked.call('POST', path, { query: { version }, body: { api_key: apiKey, ...body } })

function rowsOf({ body }: ApiResponse, name: string): Json[] {
  return body[name] as Json[]
}

/** A new merchant of the same project, by its API key: its lists have nothing of other tests. */
async function newApiKey(): Promise<string> {
  const answer = await shop.call('POST', '/account/business_account', {
    body: {
      business_name: unique('Shop'),
      first_name: 'Ama',
      last_name: 'Mensah',
      email: `${unique('shop')}@example.com`,
      mobile_number: person(50),
    },
  })
  expect(answer.status, answer.text).toBe(200)
  return String(answer.body['api_key'])
}

describe('a shop', () => {
  it('a shop finds a payment in its list as soon as it was answered', async () => {
    const api_key = await newApiKey()
    const request = order()
    const body = { api_key, transaction_request: request }
    const { id } = createdOf(await shop.call('POST', '/payments/request', { body }))
    const all = await get('/payments/list', {}, shop, api_key)
    expect(rowsOf(all, 'payments').map((row) => row['payment_details_id'])).toEqual([id])
    const found = await get('/payments/list', { transaction_id: request.id }, shop, api_key)
    expect(rowsOf(found, 'payments')).toMatchObject([
      { payment_details_id: id, transaction_id: request.id, status: 'Pending', paid: '0.00' },
    ])
    expect(found.body).toMatchObject({ has_more: false, next_cursor: null })
  })

  it('a shop pages through its list of one payer without a gap', async () => {
    const mobile_number = strangersNumber()
    const ids: string[] = []
    for (let index = 0; index < 5; index += 1) {
      ids.unshift((await shop.create(order({ payers: [{ ...payer(20), mobile_number }] }))).id)
    }
    const pages: unknown[][] = []
    let cursor: Filters = {}
    for (;;) {
      const answer = await get('/payments/list', { mobile_number, limit: '2', ...cursor })
      pages.push(rowsOf(answer, 'payments').map((row) => row['payment_details_id']))
      if (answer.body['has_more'] !== true) break
      cursor = { cursor: String(answer.body['next_cursor']) }
    }
    expect(pages).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)])
  })

  it('a shop refunds a payment, follows it in its history, and repeats the refund without harm', async () => {
    const inbox = receiver(mesh)
    const unpaid = await shop.create(order())
    const early = await post('/payments/refund', { payment_details_id: unpaid.id })
    expect([early.status, early.body['errorCode']]).toEqual([409, 'PAYMENT_NOT_REFUNDABLE'])
    const { id } = await shop.create(order({ payers: [payer(1)], urls: inbox.urls }))
    await shop.stateIs(id, 'paid')
    const reason = 'Out of stock'
    const refunded = await post('/payments/refund', { payment_details_id: id, reason })
    expect(refunded.body).toMatchObject({ payment_details: { id, status: 'Refunded' } })
    const again = await post('/payments/refund', { payment_details_id: id, reason: 'other' })
    expect(again.body['payment_details']).toEqual(refunded.body['payment_details'])
    const types = ['payment_created', 'payment_paid', 'payment_refunded', 'refund_completed']
    const history = await eventually(
      () => get('/payments/events', { payment_details_id: id }),
      (answer) => {
        const found = rowsOf(answer, 'events').map(({ type }) => type)
        expect(found).toEqual(expect.arrayContaining([...types, 'push_delivered']))
      },
    )
    const events = rowsOf(history, 'events')
    const times = events.map(({ time }) => String(time))
    expect(times).toEqual(times.toSorted())
    for (const time of times) expect(time).toMatch(isoPattern)
    expect(events[0]).toMatchObject({ type: 'payment_created' })
    expect(events.find(({ type }) => type === 'payment_refunded')?.['details']).toMatchObject({
      reason,
    })
  })

  it('a shop sees its pushes with their attempts and sends one again, with the same id and bytes', async () => {
    const inbox = receiver(mesh)
    const { id } = await shop.create(order({ urls: inbox.urls }))
    await shop.cancel(id)
    const listed = await eventually(
      () => get('/deliveries/list', { payment_details_id: id, status: 'delivered' }),
      (answer) => expect(rowsOf(answer, 'deliveries')).toHaveLength(3),
    )
    const deliveries = rowsOf(listed, 'deliveries')
    expect(
      deliveries.map(({ kind, event_type }) => [kind, event_type].join(' ')).toSorted(),
    ).toEqual([
      'callback payment_cancelled',
      'notify payment_cancelled',
      'notify payment_initiated',
    ])
    const first = deliveries.find(({ event_type }) => event_type === 'payment_initiated')
    const delivery_id = String(first?.['delivery_id'])
    const shown = await get('/deliveries/delivery', { delivery_id })
    // The pushes of a creation and a cancellation that follow at once may arrive in either order.
    const push = (await inbox.notifies()).find(
      ({ headers }) => headers['pw-delivery-id'] === delivery_id,
    )
    expect(shown.body['delivery']).toMatchObject({
      url: inbox.urls.notify,
      body: push?.body,
      attempts: [{ number: 1, http_status: 200, error: null }],
    })
    const resent = await post('/deliveries/resend', { delivery_id })
    expect(resent.status).toBe(200)
    const pushes = await eventually(inbox.notifies, (all) => expect(all).toHaveLength(3))
    const same = pushes.filter(({ headers }) => headers['pw-delivery-id'] === delivery_id)
    expect(same.map(({ headers }) => headers['pw-delivery-attempt'])).toEqual(['1', '2'])
    expect(new Set(same.map(({ body }) => body)).size).toBe(1)
  })

  it('a shop never sees or changes what is of another merchant of its project, or of another project', async () => {
    const inbox = receiver(mesh)
    const request = order({ payers: [payer(1)], urls: inbox.urls })
    const { id } = await shop.create(request)
    await shop.stateIs(id, 'paid')
    const listed = await eventually(
      () => get('/deliveries/list', { payment_details_id: id }),
      (answer) => expect(rowsOf(answer, 'deliveries').length).toBeGreaterThan(0),
    )
    const delivery_id = String(rowsOf(listed, 'deliveries')[0]?.['delivery_id'])
    const payment_details_id = id
    const stranger = merchant(mesh, 'other')
    const second = await newApiKey()
    for (const [asked, apiKey] of [
      [shop, second],
      [stranger, stranger.apiKey],
    ] as const) {
      const payments = [
        await get('/payments/list', { transaction_id: request.id }, asked, apiKey),
        await get('/payments/list', { mobile_number: person(1), limit: '100' }, asked, apiKey),
        await get('/payments/list', { limit: '100' }, asked, apiKey),
      ]
      for (const answer of payments) expect(answer.text).not.toContain(id)
      const pushes = await get('/deliveries/list', { payment_details_id }, asked, apiKey)
      expect(pushes.body).toMatchObject({ deliveries: [], has_more: false })
      const unknown = [
        await get('/payments/events', { payment_details_id }, asked, apiKey),
        await post('/payments/refund', { payment_details_id }, asked, apiKey),
      ]
      for (const { status, body } of unknown) {
        expect([status, body['errorCode']]).toEqual([404, 'PAYMENT_NOT_FOUND'])
      }
      const hidden = [
        await get('/deliveries/delivery', { delivery_id }, asked, apiKey),
        await post('/deliveries/resend', { delivery_id }, asked, apiKey),
      ]
      for (const { status, body } of hidden) {
        expect([status, body['errorCode']]).toEqual([404, 'DELIVERY_NOT_FOUND'])
      }
    }
    expect((await shop.status(id)).body).toMatchObject({ payment_details: { status: 'paid' } })
    const crossed = await get('/payments/list', {}, shop, stranger.apiKey)
    expect([crossed.status, crossed.body['errorCode']]).toEqual([401, 'PW_INVALID_API_KEY'])
  })
})
