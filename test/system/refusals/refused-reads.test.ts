// Refusals of GET status and POST cancel.
import { describe, expect, it } from 'vitest'
import { type CallOptions, merchant, order, sharedMesh } from '../harness.ts'
import { expectRefused, invalid, missingField } from './refusal.ts'

const mesh = sharedMesh()
const shop = merchant(mesh)

describe('GET /payments/status', () => {
  const read = (query: Record<string, string | undefined>, more: CallOptions = {}) =>
    shop.call('GET', '/payments/status', { ...more, query })

  it('GET /payments/status names every missing parameter in the order of the contract', async () => {
    expectRefused(await read({ version: undefined }), {
      status: 400,
      errorCode: 'MISSING_PARAMETER',
      missing: ['version', 'api_key', 'payment_details_id'],
    })
    expectRefused(await read({ api_key: '', payment_details_id: 'x' }), {
      status: 400,
      errorCode: 'MISSING_PARAMETER',
      missing: ['api_key'],
    })
  })

  it('GET /payments/status answers 404 for an id that does not exist, in any format', async () => {
    const ids = [
      'unknown',
      crypto.randomUUID(),
      '00000000-0000-0000-0000-000000000000',
      "'; --",
      '%',
    ]
    for (const payment_details_id of ids) {
      const answer = await read({ api_key: shop.apiKey, payment_details_id })
      expectRefused(answer, { status: 404, errorCode: 'PAYMENT_NOT_FOUND' })
    }
  })

  it('GET /payments/status refuses an unknown api_key before it looks for the payment', async () => {
    const answer = await read({ api_key: 'x'.repeat(32), payment_details_id: 'unknown' })
    expectRefused(answer, { status: 401, errorCode: 'PW_INVALID_API_KEY' })
  })

  it('GET /payments/status refuses a parameter that is given twice', async () => {
    const path = `/payments/status?api_key=${shop.apiKey}&payment_details_id=a&payment_details_id=b`
    const answer = await shop.call('GET', path)
    expectRefused(answer, invalid('payment_details_id'))
  })

  it('GET /payments/status takes no other method', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const answer = await shop.call(method, '/payments/status')
      expectRefused(answer, { status: 405, errorCode: 'METHOD_NOT_ALLOWED' })
      expect(answer.headers.get('allow')).toBe('GET')
    }
    const head = await shop.call('HEAD', '/payments/status')
    expect(head.status).toBe(405)
  })
})

describe('POST /payments/cancel', () => {
  const send = (body: unknown) => shop.call('POST', '/payments/cancel', { body })

  it('POST /payments/cancel needs an api_key and an id', async () => {
    expectRefused(await send({ payment_details_id: 'x' }), missingField('api_key'))
    expectRefused(await send({ api_key: shop.apiKey }), missingField('payment_details_id'))
    expectRefused(
      await send({ api_key: shop.apiKey, payment_details_id: 5 }),
      invalid('payment_details_id'),
    )
  })

  it('POST /payments/cancel answers 404 for an id that does not exist', async () => {
    for (const payment_details_id of ['unknown', crypto.randomUUID()]) {
      expectRefused(await send({ api_key: shop.apiKey, payment_details_id }), {
        status: 404,
        errorCode: 'PAYMENT_NOT_FOUND',
      })
    }
  })

  it('POST /payments/cancel refuses an unknown api_key and leaves the payment as it is', async () => {
    const created = await shop.create(order())
    const answer = await send({ api_key: 'x'.repeat(32), payment_details_id: created.id })
    expectRefused(answer, { status: 401, errorCode: 'PW_INVALID_API_KEY' })
    const status = await shop.status(created.id)
    expect(status.body).toMatchObject({ payment_details: { status: 'Pending' } })
  })
})

describe('a path that does not exist', () => {
  it('a path that does not exist answers 404 in the envelope, with or without a key', async () => {
    const answer = await shop.call('GET', '/payments/unknown', {
      headers: { 'PW-subscription-key': undefined },
    })
    expectRefused(answer, { status: 404, errorCode: 'ENDPOINT_NOT_FOUND' })
  })
})
