// Checks of the five common headers, the keys and the request id, by reads that change nothing.
import type { ApiResponse } from '../../clients/cli/api/api-call.ts'
import {
  type Check,
  type CheckContext,
  demand,
  demandRefused,
  demandShape,
  groupOf,
  newRequestId,
} from './check.ts'
import { aText } from './shape.ts'

const check = groupOf('headers')

/** A read with an unknown api_key: 401 PW_INVALID_API_KEY when all of its headers are good. */
function read(
  { shop }: CheckContext,
  headers: Record<string, string | undefined> = {},
): Promise<ApiResponse> {
  const query = { api_key: 'x'.repeat(32), payment_details_id: 'unknown' }
  return shop.send('GET', '/payments/status', { query, headers })
}

const badHeaders: [name: string, rule: string, header: string, value: string | undefined][] = [
  ['country-missing', 'PW-origin-country is mandatory', 'PW-origin-country', undefined],
  ['country-unknown', 'PW-origin-country is an ISO 3166-1 code', 'PW-origin-country', 'ZZ'],
  ['country-lower-case', 'PW-origin-country is in upper case', 'PW-origin-country', 'us'],
  ['country-three-letters', 'PW-origin-country has 2 letters', 'PW-origin-country', 'USA'],
  ['date-missing', 'PW-request-date is mandatory', 'PW-request-date', undefined],
  ['date-iso', 'PW-request-date is YYYY-MM-DD HH:mm:ss', 'PW-request-date', '2026-02-03T12:00:00'],
  ['date-unreal', 'PW-request-date is a real date', 'PW-request-date', '2026-02-30 12:00:00'],
  ['date-unreal-time', 'PW-request-date is a real time', 'PW-request-date', '2026-02-03 24:00:01'],
  ['address-missing', 'PW-ip-address is mandatory', 'PW-ip-address', undefined],
  ['address-short', 'PW-ip-address has at least 8 characters', 'PW-ip-address', '1.2.3.4'],
  ['address-long', 'PW-ip-address has at most 16', 'PW-ip-address', '2001:db8:0:0:1:2:3:4'],
  ['address-name', 'PW-ip-address is an IP address', 'PW-ip-address', 'localhost'],
  ['agent-missing', 'User-Agent is mandatory', 'User-Agent', undefined],
  ['agent-long', 'User-Agent has at most 255 characters', 'User-Agent', 'x'.repeat(256)],
  ['request-id-malformed', 'PW-request-id must be a UUID', 'PW-request-id', '17'],
]

const refusedHeaders: Check[] = badHeaders.map(([name, rule, header, value]) =>
  check(name, `${rule}; else 400 INVALID_HEADER, whose message names it.`, async (context) => {
    const answer = await read(context, { [header]: value })
    demandRefused(answer, { status: 400, errorCode: 'INVALID_HEADER', names: header })
  }),
)

const badKeys: [name: string, what: string, key: string | undefined][] = [
  ['key-missing', 'missing', undefined],
  ['key-short', 'of another length', 'short'],
  ['key-unknown', 'unknown', `pwk_test_${'x'.repeat(23)}`],
]
const invalidKey = { status: 401, errorCode: 'PW_INVALID_SUBSCRIPTION_KEY' }

const refusedKeys: Check[] = badKeys.map(([name, what, key]) =>
  check(
    name,
    `A subscription key that is ${what} is 401, with the same response as any other invalid key.`,
    async (w) => {
      demandRefused(await read(w, { 'PW-subscription-key': key }), invalidKey)
    },
  ),
)

export const headerChecks: Check[] = [
  ...refusedHeaders,
  ...refusedKeys,
  check(
    'key-of-other-environment',
    'A key of the other environment is refused exactly like an unknown one.',
    async (context) => {
      const wrong = await read(context, { 'PW-subscription-key': context.target.foreignKey })
      demandRefused(wrong, invalidKey)
      const unknown = await read(context, { 'PW-subscription-key': 'x'.repeat(32) })
      demandShape(wrong.body['message'], unknown.body['message'], 'message')
    },
    'sandbox',
  ),
  check(
    'all-bad-named',
    'The message of INVALID_HEADER names every invalid header, not only the first.',
    async (context) => {
      const answer = await read(context, { 'PW-origin-country': 'ZZ', 'PW-ip-address': undefined })
      const invalid = { status: 400, errorCode: 'INVALID_HEADER' }
      demandRefused(answer, { ...invalid, names: 'PW-origin-country' })
      demandRefused(answer, { ...invalid, names: 'PW-ip-address' })
    },
  ),
  check(
    'headers-before-key',
    'Headers are checked before the key: if both are invalid, the response is 400.',
    async (context) => {
      const answer = await read(context, {
        'PW-origin-country': 'ZZ',
        'PW-subscription-key': 'bad',
      })
      demandRefused(answer, { status: 400, errorCode: 'INVALID_HEADER' })
    },
  ),
  check(
    'address-of-ipv6',
    'PW-ip-address may be an IPv6 address of 8 to 16 characters.',
    async (context) => {
      const answer = await read(context, { 'PW-ip-address': '2001:db8::7' })
      demandRefused(answer, { status: 401, errorCode: 'PW_INVALID_API_KEY' })
    },
  ),
  check(
    'request-id-echoed',
    'A PW-request-id of the request is the request_id of the envelope and of the header.',
    async (context) => {
      const requestId = newRequestId()
      const { body, headers } = await read(context, { 'PW-request-id': requestId })
      demandShape([body['request_id'], headers['pw-request-id']], [requestId, requestId])
    },
  ),
  check(
    'request-id-made',
    'Without PW-request-id the gateway creates a new one for each request.',
    async (context) => {
      const [one, other] = [await read(context), await read(context)]
      demandShape(one.headers['pw-request-id'], aText, 'header PW-request-id')
      demand(one.body['request_id'] !== other.body['request_id'], 'two requests had one id')
    },
  ),
  check(
    'observed-address',
    'X-Forwarded-For of a client that is not a trusted proxy is ignored and not shown.',
    async (context) => {
      const { body } = await read(context, { 'X-Forwarded-For': '203.0.113.99' })
      const { request_ip } = (body['observed_client_ip'] ?? {}) as Record<string, unknown>
      demandShape(request_ip, aText, 'request_ip')
      demand(request_ip !== '203.0.113.99', 'an address that the client made up was believed')
    },
    'loopback',
  ),
  check(
    'address-not-allowed',
    'A call for a project with an address list from any other address is 403 PW_IP_NOT_ALLOWED.',
    async (context) => {
      const query = { api_key: 'x', payment_details_id: 'x' }
      const restricted = context.as('ip_restricted')
      for (const claimed of ['127.0.0.1', '203.0.113.7']) {
        const headers = { 'PW-ip-address': claimed }
        const answer = await restricted.send('GET', '/payments/status', { query, headers })
        demandRefused(answer, { status: 403, errorCode: 'PW_IP_NOT_ALLOWED' })
      }
    },
    'sandbox',
  ),
]
