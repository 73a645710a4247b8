// Checks of refusals before a route: unknown paths, methods, bodies, sizes; and of the order of the refusals.
import type { ApiResponse } from '../../clients/cli/api/api-call.ts'
import {
  type Check,
  type CheckContext,
  demand,
  demandBillRefused,
  demandRefused,
  demandShape,
  groupOf,
  newRequestId,
} from './check.ts'
import { holding } from './shape.ts'

const check = groupOf('edge')
const invalidJson = { status: 400, errorCode: 'INVALID_JSON' }

/** POST /payments/request with a body that is sent as it is. */
function post(
  { shop }: CheckContext,
  body: string,
  headers: Record<string, string> = {},
): Promise<ApiResponse> {
  return shop.send('POST', '/payments/request', { body, headers })
}

const badBodies: [name: string, what: string, body: string][] = [
  ['body-empty', 'an empty body', ''],
  ['body-cut', 'a body that is cut off', '{"api_key": "x"'],
  ['body-list', 'a list', '[]'],
  ['body-text', 'a text', '"text"'],
  ['body-null', 'null', 'null'],
  ['body-two', 'text after the object', '{"a":1}}'],
]

export const edgeChecks: Check[] = [
  ...badBodies.map(([name, what, body]) =>
    check(name, `${what} in the place of a JSON object is 400 INVALID_JSON.`, async (context) => {
      demandRefused(await post(context, body), invalidJson)
    }),
  ),
  check(
    'unknown-path',
    'An unknown path is 404 ENDPOINT_NOT_FOUND in the envelope of payments, also without a key.',
    async ({ shop }) => {
      const headers = { 'PW-subscription-key': undefined, 'User-Agent': undefined }
      for (const path of [
        '/unknown',
        '/payments',
        '/payments/requests',
        '/bill_payments/billers',
      ]) {
        const answer = await shop.send('GET', path, { headers })
        demandRefused(answer, { status: 404, errorCode: 'ENDPOINT_NOT_FOUND' })
      }
    },
  ),
  check(
    'unknown-method',
    'A method that the path does not support is 405 METHOD_NOT_ALLOWED with the header Allow.',
    async ({ shop }) => {
      for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        const answer = await shop.send(method, '/payments/request')
        demandRefused(answer, { status: 405, errorCode: 'METHOD_NOT_ALLOWED' })
        demandShape(answer.headers['allow'], holding('POST'), 'header Allow')
      }
      const both = await shop.send('PUT', '/institution/transaction')
      demandShape(both.headers['allow'], 'GET, POST', 'header Allow')
    },
  ),
  check('head', 'HEAD is 405 on a route of the contract.', async ({ shop }) => {
    const answer = await shop.send('HEAD', '/payments/status')
    demand(answer.status === 405, `answered ${answer.status}, not 405`)
  }),
  check(
    'headers-of-answers',
    'Responses are JSON in UTF-8, with no-store and nosniff.',
    async ({ shop }) => {
      const { headers } = await shop.send('GET', '/payments/status')
      demandShape(headers, {
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      })
    },
  ),
  check(
    'large-body',
    'A body over 64 KiB is 413 PAYLOAD_TOO_LARGE, before its type and the key are checked.',
    async (context) => {
      const answer = await post(context, 'x'.repeat(65_537))
      demandRefused(answer, { status: 413, errorCode: 'PAYLOAD_TOO_LARGE' })
    },
  ),
  check(
    'media-type',
    'A body with a Content-Type other than JSON is 415 UNSUPPORTED_MEDIA_TYPE.',
    async (context) => {
      for (const type of ['application/x-www-form-urlencoded', 'text/plain']) {
        const answer = await post(context, 'a=1', { 'Content-Type': type })
        demandRefused(answer, { status: 415, errorCode: 'UNSUPPORTED_MEDIA_TYPE' })
      }
    },
  ),
  check(
    'large-headers',
    'Headers over 16 KiB are 431 HEADERS_TOO_LARGE, as JSON.',
    async ({ shop }) => {
      const headers = { 'X-Padding': 'x'.repeat(17_000) }
      const answer = await shop.send('GET', '/payments/status', { headers })
      demandRefused(answer, { status: 431, errorCode: 'HEADERS_TOO_LARGE' })
    },
  ),
  check(
    'order-of-refusals',
    'Checks run in the order body, headers, key, version, field; the first failure is returned.',
    async (context) => {
      const key = { 'PW-subscription-key': 'unknown' }
      const country = { 'PW-origin-country': 'XX' }
      const send = (body: string, headers: Record<string, string>, version?: string) =>
        context.shop.send('POST', '/payments/request', {
          body,
          headers,
          ...(version !== undefined && { query: { version } }),
        })
      const answers = [
        await send('{', { ...key, ...country }, '1'),
        await send('{}', { ...key, ...country }, '1'),
        await send('{}', key, '1'),
        await send('{}', {}, '1'),
        await send('{}', {}),
      ]
      const codes = answers.map(({ body }) => body['errorCode'])
      demandShape(codes, [
        'INVALID_JSON',
        'INVALID_HEADER',
        'PW_INVALID_SUBSCRIPTION_KEY',
        'VERSION_NOT_SUPPORTED',
        'MISSING_PARAMETER',
      ])
    },
  ),
  check(
    'session-headers',
    'POST /account/account_session requires PW-request-id, and an Accept that includes JSON.',
    async ({ shop }) => {
      const path = '/account/account_session'
      const without = await shop.send('POST', path, { body: '{}' })
      const invalid = { status: 400, errorCode: 'INVALID_HEADER' }
      demandRefused(without, { ...invalid, names: 'PW-request-id' })
      const headers = { 'PW-request-id': newRequestId(), Accept: 'text/html' }
      const html = await shop.send('POST', path, { body: '{}', headers })
      demandRefused(html, { ...invalid, names: 'Accept' })
    },
  ),
  check(
    'idempotency-key',
    'POST /bill_payments/pay without Idempotency-Key is 400 IDEMPOTENCY_KEY_REQUIRED.',
    async ({ shop }) => {
      const answer = await shop.send('POST', '/bill_payments/pay', { body: '{}' })
      demandBillRefused(answer, 400, 'IDEMPOTENCY_KEY_REQUIRED')
    },
  ),
  check(
    'account-access',
    'A project without Account API access gets 403 PW_ACCOUNT_ACCESS_REQUIRED on every /account route.',
    async (context) => {
      const client = context.as('payments_only')
      const headers = { 'PW-request-id': newRequestId() }
      for (const route of ['account_session', 'personal_account', 'business_account']) {
        const answer = await client.send('POST', `/account/${route}`, { body: '{}', headers })
        demandRefused(answer, { status: 403, errorCode: 'PW_ACCOUNT_ACCESS_REQUIRED' })
      }
      const balance = await client.balance('+12025550100')
      demandRefused(balance, { status: 403, errorCode: 'PW_ACCOUNT_ACCESS_REQUIRED' })
    },
    'sandbox',
  ),
]
