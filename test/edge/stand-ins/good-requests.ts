// For every documented route a request that the edge accepts, and what its answers look like; it must not call anything.

import { apiKey, goodHeaders, goodPayment, paymentId, type Seen } from '../harness.ts'
import { billId } from './billing.ts'
import { errorKeys, type GoodRequest } from './good-request.ts'
import { merchantRequests } from './merchant-requests.ts'
import { quoteId } from './quotes.ts'

/** What of an answer is the same for all refusals of a group. */
export function shapeOf({ status, headers, body }: Seen) {
  const requestId = headers.get('pw-request-id') ?? ''
  return {
    status,
    code: body['code'],
    outcome: body['status'],
    errorCode: body['errorCode'],
    hasMessage: typeof body['message'] === 'string' && body['message'] !== '',
    keys: Object.keys(body)
      // A refusal with a page of its code names the field, where one is wrong.
      .filter((key) => key !== 'missing' && !(key === 'field' && 'doc_url' in body))
      .toSorted(),
    hasRequestId: /^[0-9a-f-]{36}$/.test(requestId),
    isSameRequestId: (body['request_id'] ?? requestId) === requestId,
    contentType: headers.get('content-type'),
  }
}

/** That shape, as it has to be. */
export function refusedAs(group: keyof typeof errorKeys, code: number, reason: string) {
  return {
    status: code,
    code,
    outcome: 'error',
    errorCode: group === 'quote' ? undefined : reason,
    hasMessage: true,
    keys: errorKeys[group],
    hasRequestId: true,
    isSameRequestId: true,
    contentType: 'application/json; charset=utf-8',
  }
}

const v2024 = { version: '2024-10-01' }
const v2026 = { version: '2026-07-01' }
const person = { first_name: 'Ama', last_name: 'Mensah' }
const mobile_number = '+12025550100'
const institution_name = 'Demo Wallet'
const session_token = 'pws_0123456789'
const authorisation_token = 'token-0123456789'

/** Every documented route. */
export const goodRequests: GoodRequest[] = [
  {
    ...v2024,
    method: 'POST',
    path: '/payments/request',
    errors: 'full',
    query: {},
    required: [],
    body: goodPayment(),
    fields: [
      'api_key',
      'transaction_request',
      'transaction_request.id',
      'transaction_request.amount',
      'transaction_request.currency',
      'transaction_request.payers',
      'transaction_request.payers[0].mobile_number',
      'transaction_request.payers[0].payment_channel',
      'transaction_request.payers[0].payment_method',
    ],
    credential: 'api_key',
  },
  {
    ...v2024,
    method: 'GET',
    path: '/payments/status',
    errors: 'full',
    query: { api_key: apiKey, payment_details_id: paymentId },
    required: ['api_key', 'payment_details_id'],
    credential: 'api_key',
  },
  {
    ...v2024,
    method: 'POST',
    path: '/payments/cancel',
    errors: 'full',
    query: {},
    required: [],
    body: { api_key: apiKey, payment_details_id: paymentId },
    fields: ['api_key', 'payment_details_id'],
    credential: 'api_key',
  },
  {
    ...v2024,
    method: 'POST',
    path: '/account/account_session',
    errors: 'full',
    query: {},
    required: [],
    headers: { 'PW-request-id': paymentId },
    body: { lookup_type: 'MOBILE', lookup_value: mobile_number },
    fields: ['lookup_type', 'lookup_value'],
    credential: 'none',
    account: true,
  },
  {
    ...v2024,
    method: 'GET',
    path: '/account/account',
    errors: 'withoutIp',
    query: { mobile_number, institution_name, ...person },
    required: ['mobile_number', 'institution_name', 'first_name', 'last_name'],
    credential: 'none',
    account: true,
  },
  {
    ...v2024,
    method: 'POST',
    path: '/account/personal_account',
    errors: 'full',
    query: {},
    required: [],
    body: { ...person, email: 'ama@example.com', mobile_number, institution_name },
    fields: ['first_name', 'last_name', 'email', 'mobile_number', 'institution_name'],
    credential: 'none',
    account: true,
  },
  {
    ...v2024,
    method: 'POST',
    path: '/account/business_account',
    errors: 'full',
    query: {},
    required: [],
    body: { business_name: 'Demo Store', ...person, email: 'ama@example.com', mobile_number },
    fields: ['business_name', 'first_name', 'last_name', 'email', 'mobile_number'],
    credential: 'none',
    account: true,
  },
  {
    ...v2024,
    method: 'POST',
    path: '/account/register_account',
    errors: 'full',
    query: {},
    required: [],
    body: {
      mobile_number,
      institution_name,
      ...person,
      session_token,
      authorisation_token,
      callback_url: 'https://example.com/done',
    },
    fields: [
      'mobile_number',
      'institution_name',
      'first_name',
      'last_name',
      'session_token',
      'authorisation_token',
      'callback_url',
    ],
    credential: 'session',
    account: true,
  },
  {
    ...v2024,
    method: 'GET',
    path: '/account/balance',
    errors: 'full',
    query: { mobile_number },
    required: ['mobile_number'],
    credential: 'none',
    account: true,
  },
  {
    ...v2024,
    method: 'POST',
    path: '/account/transaction_history',
    errors: 'full',
    query: {},
    required: [],
    body: { mobile_number },
    fields: ['mobile_number'],
    credential: 'none',
    account: true,
  },
  {
    ...v2024,
    method: 'POST',
    path: '/institution/transaction',
    errors: 'full',
    query: {},
    required: [],
    body: {
      session_token_enc: 'AQID',
      transaction_id: 'transfer-1',
      amount: '10.00',
      transaction_type: 'p2p',
      debit_party: { mobile_number },
      credit_party: [{ key: 'mobile_number', value: '+12025550101' }],
      transfer_information: { institution_name },
    },
    fields: [
      'session_token_enc',
      'transaction_id',
      'amount',
      'transaction_type',
      'debit_party',
      'credit_party',
      'transfer_information',
      'transfer_information.institution_name',
    ],
    credential: 'session',
    grant: true,
  },
  {
    ...v2024,
    method: 'GET',
    path: '/institution/transaction',
    errors: 'full',
    query: { transaction_id: 'transfer-1', institution_name },
    required: ['transaction_id', 'institution_name'],
    credential: 'none',
    grant: true,
  },
  {
    ...v2024,
    method: 'POST',
    path: '/institution/quote',
    errors: 'full',
    query: {},
    required: [],
    body: { session_token, institution_name, request_amount: '10.00', request_currency: 'USD' },
    fields: ['session_token', 'institution_name', 'request_amount', 'request_currency'],
    credential: 'session',
    grant: true,
  },
  {
    ...v2024,
    method: 'GET',
    path: '/institution/post',
    errors: 'full',
    query: { quote_id: quoteId, institution_name },
    required: ['quote_id', 'institution_name'],
    credential: 'none',
    grant: true,
  },
  {
    ...v2024,
    method: 'GET',
    path: '/institution/transaction_history',
    errors: 'full',
    query: { mobile_number },
    required: ['mobile_number'],
    credential: 'none',
  },
  {
    ...v2024,
    method: 'POST',
    path: '/quote',
    errors: 'quote',
    query: {},
    required: [],
    body: {
      session_token,
      institution_name,
      request_amount: '10.00',
      request_currency: 'USD',
      credit_party: { currency: 'TTD' },
    },
    fields: ['session_token', 'institution_name', 'request_amount', 'request_currency'],
    credential: 'session',
  },
  {
    ...v2024,
    method: 'GET',
    path: '/quote',
    errors: 'quote',
    query: { quote_id: quoteId, institution_name },
    required: ['quote_id', 'institution_name'],
    credential: 'none',
  },
  {
    ...v2026,
    method: 'POST',
    path: '/bill_payments/pay',
    errors: 'bill',
    query: {},
    required: [],
    headers: { 'Idempotency-Key': 'bill-1' },
    body: {
      biller_code: 'DEMO_WATER',
      product_code: 'BILL',
      amount: '25.00',
      currency: 'USD',
      customer_reference: 'W1234567',
    },
    fields: ['biller_code', 'product_code', 'amount', 'currency', 'customer_reference'],
    credential: 'none',
  },
  {
    ...v2026,
    method: 'GET',
    path: '/bill_payments/status',
    errors: 'bill',
    query: { transaction_id: billId },
    required: ['transaction_id'],
    credential: 'none',
  },
  {
    ...v2026,
    method: 'GET',
    path: '/bill_payments/receipt',
    errors: 'bill',
    query: { transaction_id: billId },
    required: ['transaction_id'],
    credential: 'none',
  },
  ...merchantRequests,
]

/** One request that a test mutates. */
export type Draft = {
  method: string
  path: string
  query: Record<string, string>
  headers: Record<string, string>
  body: unknown
}

/** A copy that may be changed. */
export function draftOf(good: GoodRequest): Draft {
  return {
    method: good.method,
    path: good.path,
    query: { version: good.version, ...good.query },
    headers: goodHeaders(good.headers),
    body: structuredClone(good.body),
  }
}

/** Path and query of a draft. */
export function targetOf({ path, query }: Draft): string {
  return `${path}?${new URLSearchParams(query).toString()}`
}

/** A copy of a body in which the field at `path` (`a.b[0].c`) is removed or replaced. */
export function change(body: unknown, path: string, value?: unknown): unknown {
  const copy = structuredClone(body) as Record<string, unknown>
  const steps = path.replaceAll(/\[(\d+)\]/g, '.$1').split('.')
  const last = steps.pop() ?? ''
  let node: Record<string, unknown> = copy
  for (const step of steps) node = node[step] as Record<string, unknown>
  if (value === undefined) delete node[last]
  else node[last] = value
  return copy
}
