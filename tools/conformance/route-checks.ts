// Checks that every route of the contract makes: its version, its missing parameters, its key, its methods.
import type { ApiResponse, Json } from '../../clients/cli/api/api-call.ts'
import { unique } from '../../clients/cli/api/order.ts'
import {
  type Check,
  type CheckContext,
  demandBillRefused,
  demandPlainlyRefused,
  demandRefused,
  groupOf,
  newRequestId,
} from './check.ts'

const check = groupOf('routes')

type ContractRoute = {
  method: 'GET' | 'POST'
  path: string
  /** Query parameters that must be there besides `version`, in the contract's order. */
  query?: string[]
  /** The first required field of the body. */
  field?: string
}

/** Every route of the contract. */
export const contractRoutes: readonly ContractRoute[] = [
  { method: 'POST', path: '/payments/request', field: 'api_key' },
  { method: 'GET', path: '/payments/status', query: ['api_key', 'payment_details_id'] },
  { method: 'POST', path: '/payments/cancel', field: 'api_key' },
  { method: 'POST', path: '/account/account_session', field: 'lookup_type' },
  {
    method: 'GET',
    path: '/account/account',
    query: ['mobile_number', 'institution_name', 'first_name', 'last_name'],
  },
  { method: 'POST', path: '/account/personal_account', field: 'first_name' },
  { method: 'POST', path: '/account/business_account', field: 'business_name' },
  { method: 'POST', path: '/account/register_account', field: 'mobile_number' },
  { method: 'GET', path: '/account/balance', query: ['mobile_number'] },
  { method: 'POST', path: '/account/transaction_history', field: 'mobile_number' },
  { method: 'POST', path: '/institution/transaction', field: 'session_token_enc' },
  {
    method: 'GET',
    path: '/institution/transaction',
    query: ['transaction_id', 'institution_name'],
  },
  { method: 'POST', path: '/institution/quote', field: 'session_token' },
  { method: 'GET', path: '/institution/post', query: ['quote_id', 'institution_name'] },
  { method: 'GET', path: '/institution/transaction_history', query: ['mobile_number'] },
  { method: 'POST', path: '/quote', field: 'session_token' },
  { method: 'GET', path: '/quote', query: ['quote_id', 'institution_name'] },
  { method: 'POST', path: '/bill_payments/pay', field: 'biller_code' },
  { method: 'GET', path: '/bill_payments/status', query: ['transaction_id'] },
  { method: 'GET', path: '/bill_payments/receipt', query: ['transaction_id'] },
]

const versionOf = ({ path }: ContractRoute) =>
  path.startsWith('/bill_payments/') ? '2026-07-01' : '2024-10-01'

/** A call with all of its headers and nothing else. */
function send(
  { shop }: CheckContext,
  { method, path }: ContractRoute,
  more: { version?: string | undefined; headers?: Record<string, string> } = {},
): Promise<ApiResponse> {
  return shop.send(method, path, {
    ...('version' in more && { query: { version: more.version } }),
    headers: {
      'PW-request-id': newRequestId(),
      ...(path === '/bill_payments/pay' && { 'Idempotency-Key': unique('key') }),
      ...more.headers,
    },
    ...(method === 'POST' && { body: '{}' }),
  })
}

/** The error of the route's own envelope. */
function demandRefusedBy(
  { method, path }: ContractRoute,
  answer: ApiResponse,
  refusal: { status: number; errorCode: string; names: string; missing?: string[] },
): void {
  const { status, errorCode, names, missing } = refusal
  const more: Json = missing === undefined ? {} : { missing }
  // Errors of /quote have three fields, and those of its GET name what is missing beside them.
  const isRead = method === 'GET'
  if (path === '/quote') demandPlainlyRefused(answer, status, names, isRead ? more : {})
  else if (path.startsWith('/bill_payments/')) demandBillRefused(answer, status, errorCode, more)
  // Of this route alone the address is shown on demand only.
  else if (path === '/account/account') {
    demandRefused({ ...answer, body: { observed_client_ip: unseen, ...answer.body } }, refusal)
  } else demandRefused(answer, refusal)
}

const unseen = { request_ip: 'unseen', socket_remote_address: 'unseen' }

function checksOf(row: ContractRoute): Check[] {
  const { method, path, query = [], field } = row
  const name = `${method.toLowerCase()}${path.replaceAll('/', '-')}`
  const needs = path.startsWith('/account/') ? (['sandbox'] as const) : []
  const missing = ['version', ...query]
  const rows = [
    check(
      `${name}/missing`,
      missingRule(row, missing),
      async (context) => {
        const answer = await send(context, row, { version: undefined })
        const refusal = { status: 400, errorCode: 'MISSING_PARAMETER', names: 'version' }
        demandRefusedBy(row, answer, { ...refusal, missing })
      },
      ...needs,
    ),
    check(
      `${name}/key`,
      `${method} ${path} without a valid subscription key is 401, regardless of other errors.`,
      async (context) => {
        const headers = { 'PW-subscription-key': 'x'.repeat(32) }
        const answer = await send(context, row, { version: undefined, headers })
        const errorCode = 'PW_INVALID_SUBSCRIPTION_KEY'
        demandRefusedBy(row, answer, { status: 401, errorCode, names: 'key' })
      },
    ),
  ]
  if (field === undefined) return rows
  return [
    ...rows,
    check(
      `${name}/version`,
      `${method} ${path} with a version other than ${versionOf(row)} is 400 VERSION_NOT_SUPPORTED.`,
      async (context) => {
        for (const version of ['2023-01-01', '2024-10-01 ', 'latest']) {
          const answer = await send(context, row, { version })
          const refusal = { status: 400, errorCode: 'VERSION_NOT_SUPPORTED', names: 'version' }
          demandRefusedBy(row, answer, refusal)
        }
      },
      ...needs,
    ),
    check(
      `${name}/field`,
      `${method} ${path} with an empty body is 400 MISSING_PARAMETER and names ${field}.`,
      async (context) => {
        const answer = await send(context, row)
        const errorCode = 'MISSING_PARAMETER'
        demandRefusedBy(row, answer, { status: 400, errorCode, names: field })
      },
      ...needs,
    ),
  ]
}

function missingRule({ method, path }: ContractRoute, missing: string[]): string {
  const refused = `${method} ${path} without query parameters is 400`
  if (path === '/quote' && method === 'POST') return `${refused} in status, code and message alone.`
  return `${refused}, and "missing" is ${missing.join(', ')}, in this order.`
}

export const routeChecks: Check[] = [
  ...contractRoutes.flatMap(checksOf),
  check(
    'version-of-reads',
    'Reads with another version are 400 too, with all of their parameters given.',
    async ({ shop }) => {
      const version = '2026-07-01'
      const payment = { version, api_key: 'x', payment_details_id: 'x' }
      const answer = await shop.send('GET', '/payments/status', { query: payment })
      demandRefused(answer, { status: 400, errorCode: 'VERSION_NOT_SUPPORTED', names: 'version' })
      const quote = { version, quote_id: 'x', institution_name: 'x' }
      const quoted = await shop.send('GET', '/quote', { query: quote })
      demandPlainlyRefused(quoted, 400, 'version')
      const bill = { version: '2024-10-01', transaction_id: 'x' }
      const paid = await shop.send('GET', '/bill_payments/status', { query: bill })
      demandBillRefused(paid, 400, 'VERSION_NOT_SUPPORTED')
    },
  ),
  check('empty-is-missing', 'An empty query parameter counts as missing.', async ({ shop }) => {
    const query = { version: '', api_key: '', payment_details_id: 'x' }
    const answer = await shop.send('GET', '/payments/status', { query })
    const missing = ['version', 'api_key']
    demandRefused(answer, { status: 400, errorCode: 'MISSING_PARAMETER', missing })
  }),
  check(
    'repeated-parameter',
    'A repeated query parameter is 400 INVALID_PARAMETER.',
    async ({ shop }) => {
      const twice = '/payments/status?version=2024-10-01&version=2024-10-01&api_key=x'
      const query = { version: undefined, payment_details_id: 'x' }
      const answer = await shop.send('GET', twice, { query })
      demandRefused(answer, { status: 400, errorCode: 'INVALID_PARAMETER', names: 'version' })
    },
  ),
]
