// Every refusal of a payment request by headers, query and credentials, with proof that nothing was stored or sent.
import { describe, expect, it } from 'vitest'
import { type CallOptions, merchant, sharedMesh } from '../harness.ts'
import { expectRefused, invalid, markedOrders, missingField, type Refused } from './refusal.ts'

const mesh = sharedMesh()
const shop = merchant(mesh)
const { marked, expectNoTrace } = markedOrders(mesh)
const at = 'transaction_request'

describe('a call of POST /payments/request is refused, and nothing of it is stored or sent,', () => {
  const calls: [string, CallOptions, Refused][] = [
    [
      'without a version',
      { query: { version: undefined } },
      { status: 400, errorCode: 'MISSING_PARAMETER', missing: ['version'] },
    ],
    [
      'with an empty version',
      { query: { version: '' } },
      { status: 400, errorCode: 'MISSING_PARAMETER', missing: ['version'] },
    ],
    [
      'with the version of another route',
      { query: { version: '2026-07-01' } },
      { status: 400, errorCode: 'VERSION_NOT_SUPPORTED' },
    ],
    [
      'without an origin country',
      { headers: { 'PW-origin-country': undefined } },
      { status: 400, errorCode: 'INVALID_HEADER', names: 'PW-origin-country' },
    ],
    [
      'with a country that does not exist',
      { headers: { 'PW-origin-country': 'ZZ' } },
      { status: 400, errorCode: 'INVALID_HEADER', names: 'PW-origin-country' },
    ],
    [
      'with a country in lower case',
      { headers: { 'PW-origin-country': 'us' } },
      { status: 400, errorCode: 'INVALID_HEADER', names: 'PW-origin-country' },
    ],
    [
      'without a date',
      { headers: { 'PW-request-date': undefined } },
      { status: 400, errorCode: 'INVALID_HEADER', names: 'PW-request-date' },
    ],
    [
      'with a day that does not exist',
      { headers: { 'PW-request-date': '2026-02-30 12:00:00' } },
      { status: 400, errorCode: 'INVALID_HEADER', names: 'PW-request-date' },
    ],
    [
      'with an ISO date',
      { headers: { 'PW-request-date': '2026-02-03T12:00:00' } },
      { status: 400, errorCode: 'INVALID_HEADER', names: 'PW-request-date' },
    ],
    [
      'without an address',
      { headers: { 'PW-ip-address': undefined } },
      { status: 400, errorCode: 'INVALID_HEADER', names: 'PW-ip-address' },
    ],
    [
      'with an address of seven characters',
      { headers: { 'PW-ip-address': '1.2.3.4' } },
      { status: 400, errorCode: 'INVALID_HEADER', names: 'PW-ip-address' },
    ],
    [
      'with a name in the place of the address',
      { headers: { 'PW-ip-address': 'localhost' } },
      { status: 400, errorCode: 'INVALID_HEADER', names: 'PW-ip-address' },
    ],
    [
      'with a user agent of 256 characters',
      { headers: { 'User-Agent': 'x'.repeat(256) } },
      { status: 400, errorCode: 'INVALID_HEADER', names: 'User-Agent' },
    ],
    [
      'with a request id that is no UUID',
      { headers: { 'PW-request-id': '17' } },
      { status: 400, errorCode: 'INVALID_HEADER', names: 'PW-request-id' },
    ],
    [
      'without a subscription key',
      { headers: { 'PW-subscription-key': undefined } },
      { status: 401, errorCode: 'PW_INVALID_SUBSCRIPTION_KEY' },
    ],
    [
      'with a short subscription key',
      { headers: { 'PW-subscription-key': 'short' } },
      { status: 401, errorCode: 'PW_INVALID_SUBSCRIPTION_KEY' },
    ],
    [
      'with an unknown subscription key',
      { headers: { 'PW-subscription-key': `pwk_test_${'x'.repeat(23)}` } },
      { status: 401, errorCode: 'PW_INVALID_SUBSCRIPTION_KEY' },
    ],
    [
      'with a key of production',
      { headers: { 'PW-subscription-key': mesh.sandbox.production_key } },
      { status: 401, errorCode: 'PW_INVALID_SUBSCRIPTION_KEY' },
    ],
    [
      'from an address that the project does not allow',
      { headers: { 'PW-subscription-key': mesh.sandbox.projects.ip_restricted.subscription_key } },
      { status: 403, errorCode: 'PW_IP_NOT_ALLOWED' },
    ],
    [
      'when only the claimed address is one that the project allows',
      {
        headers: {
          'PW-subscription-key': mesh.sandbox.projects.ip_restricted.subscription_key,
          'PW-ip-address': '203.0.113.7',
          'X-Forwarded-For': '203.0.113.7',
        },
      },
      { status: 403, errorCode: 'PW_IP_NOT_ALLOWED' },
    ],
    [
      'as a form',
      { headers: { 'Content-Type': 'application/x-www-form-urlencoded' } },
      { status: 415, errorCode: 'UNSUPPORTED_MEDIA_TYPE' },
    ],
    [
      'without a media type',
      { headers: { 'Content-Type': '' } },
      { status: 415, errorCode: 'UNSUPPORTED_MEDIA_TYPE' },
    ],
  ]
  it.each(calls)(
    'a call of POST /payments/request is refused, and nothing of it is stored or sent: %s',
    async (_title, options, refused) => {
      const body = { api_key: shop.apiKey, transaction_request: marked() }
      expectRefused(await shop.call('POST', '/payments/request', { body, ...options }), refused)
    },
  )

  const apiKeys: [string, unknown, Refused][] = [
    ['without an api_key', undefined, missingField('api_key')],
    ['with an empty api_key', '', missingField('api_key')],
    ['with a number as api_key', 17, invalid('api_key')],
    ['with an unknown api_key', 'x'.repeat(32), { status: 401, errorCode: 'PW_INVALID_API_KEY' }],
    [
      'with the api_key of another project',
      mesh.sandbox.projects.other.api_key,
      { status: 401, errorCode: 'PW_INVALID_API_KEY' },
    ],
  ]
  it.each(apiKeys)(
    'a call of POST /payments/request is refused, and nothing of it is stored or sent: %s',
    async (_title, api_key, refused) => {
      const transaction_request = marked()
      const body = { api_key, transaction_request }
      expectRefused(await shop.call('POST', '/payments/request', { body }), refused)
    },
  )

  it('a call of POST /payments/request is refused, and nothing of it is stored or sent, when the body is not a JSON object', async () => {
    for (const body of ['', '{', '[]', '"text"', 'null', '17', '{"a":1}}', '\u0000']) {
      const answer = await shop.call('POST', '/payments/request', { body })
      expectRefused(answer, { status: 400, errorCode: 'INVALID_JSON' })
    }
  })

  it('a call of POST /payments/request is refused, and nothing of it is stored or sent, when the body has more than 64 KiB', async () => {
    const transaction = marked()
    const body = { api_key: shop.apiKey, transaction_request: transaction, pad: 'x'.repeat(65_536) }
    const answer = await shop.call('POST', '/payments/request', { body })
    expectRefused(answer, { status: 413, errorCode: 'PAYLOAD_TOO_LARGE' })
  })

  it('a call of POST /payments/request is refused, and nothing of it is stored or sent, without a transaction_request, or with one that is no object', async () => {
    const send = (transaction_request?: unknown) =>
      shop.call('POST', '/payments/request', {
        body: { api_key: shop.apiKey, transaction_request },
      })
    expectRefused(await send(), missingField(at))
    expectRefused(await send('text'), invalid(at))
  })

  it('a call of POST /payments/request is refused, and nothing of it is stored or sent, when the version is given twice', async () => {
    const twice = { api_key: shop.apiKey, transaction_request: marked() }
    const url = '/payments/request?version=2024-10-01&version=2024-10-01'
    const refused = await shop.call('POST', url, { body: twice, query: { version: undefined } })
    expectRefused(refused, invalid('version'))
  })

  it('a call of POST /payments/request is refused by the first check that fails, and nothing of it is stored or sent', async () => {
    const body = {
      api_key: 'unknown',
      transaction_request: marked((transaction) => ({ ...transaction, amount: '0' })),
    }
    const send = (options: CallOptions) =>
      shop.call('POST', '/payments/request', { body, ...options })
    const badKey = { 'PW-subscription-key': 'unknown' }
    const badHeader = { 'PW-origin-country': 'XX' }
    const badVersion = { version: '1' }
    const order: [CallOptions, string][] = [
      [{ body: '{', headers: { ...badKey, ...badHeader }, query: badVersion }, 'INVALID_JSON'],
      [{ headers: { ...badKey, ...badHeader }, query: badVersion }, 'INVALID_HEADER'],
      [{ headers: badKey, query: badVersion }, 'PW_INVALID_SUBSCRIPTION_KEY'],
      [{ query: badVersion }, 'VERSION_NOT_SUPPORTED'],
      [{}, 'INVALID_PARAMETER'],
    ]
    for (const [options, errorCode] of order) {
      expect((await send(options)).body['errorCode']).toBe(errorCode)
    }
  })

  it('a call of POST /payments/request that was refused leaves no rows and no pushes', async () => {
    await expectNoTrace(28)
  })
})
