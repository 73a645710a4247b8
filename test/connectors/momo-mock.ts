// MTN's MoMo API as connectors/momo/openapi.yaml describes it, with the test numbers of MTN's sandbox. It keeps state, which a mock server made from the document alone cannot: what a
// reference came to, a second use of it, the token, the callback. Every call and every answer is checked against the document.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { parse } from 'yaml'
import { serveHttp } from '../support/http-server.ts'
import { createChecks, type MockResponse, type OpenApi } from './openapi-checks.ts'

export const credentials = {
  subscriptionKey: 'momo-subscription-key-of-a-test',
  apiUser: 'momo-api-user-of-a-test',
  apiKey: 'momo-api-key-of-a-test',
}

/** How the next call that sends a request is answered, instead of as documented. */
export type Fault =
  /** Accepted, but the connection is cut before the answer. */
  | 'accepted without answer'
  /** Not accepted, and the connection is cut. */
  | 'lost'
  /** 503 SERVICE_UNAVAILABLE. */
  | 'unavailable'
  /** 401: the token is no longer valid. */
  | 'token refused'
  /** Accepted and not yet decided until `decide`. */
  | 'undecided'
  /** Accepted, the connection is cut before the answer, and the next two enquiries do not find it. */
  | 'accepted unseen'
  /** 500 PAYEE_NOT_FOUND, though it may have been accepted before. */
  | 'refused'
  /** 500 NOT_ENOUGH_FUNDS. */
  | 'no funds'
  /** 400 with a code about our configuration. */
  | 'malformed'
  /** 400 REQUEST_REJECTED, as for a currency of another environment. */
  | 'rejected'
  /** Accepted, and then FAILED with NOT_ENOUGH_FUNDS. */
  | 'fails without funds'
  /** Accepted, and then SUCCESSFUL with another amount. */
  | 'other amount'
  /** Accepted, and then SUCCESSFUL in another currency. */
  | 'other currency'
  /** Accepted, and then SUCCESSFUL for another external id. */
  | 'other id'

type Order = Record<string, unknown> & { externalId: string; amount: string; currency: string }
type Stored = {
  order: Order
  callbackUrl: string
  status: string
  reason?: string
  unseen: number
  shown: object
}

const file = new URL('../../connectors/momo/openapi.yaml', import.meta.url)
const document = parse(readFileSync(file, 'utf8'), { merge: true }) as OpenApi

/** MTN's page "Testing": what its test numbers come to. All others succeed. */
const outcomes: Record<string, Record<string, string>> = {
  requesttopay: {
    '46733123450': 'INTERNAL_PROCESSING_ERROR',
    '46733123451': 'APPROVAL_REJECTED',
    '46733123452': 'EXPIRED',
    '46733123455': 'PAYER_NOT_FOUND',
    '46733123456': 'PAYEE_NOT_ALLOWED_TO_RECEIVE',
    '46733123457': 'NOT_ALLOWED',
    '46733123458': 'NOT_ALLOWED_TARGET_ENVIRONMENT',
    '46733123459': 'INVALID_CALLBACK_URL_HOST',
    '46733123460': 'INVALID_CURRENCY',
    '46733123462': 'SERVICE_UNAVAILABLE',
    '46733123463': 'COULD_NOT_PERFORM_TRANSACTION',
    '46733123464': 'TRANSFER_TYPE_UNKNOWN',
  },
  transfer: {
    '46733123455': 'NOT_ENOUGH_FUNDS',
    '46733123456': 'PAYER_LIMIT_REACHED',
    '46733123457': 'PAYEE_NOT_FOUND',
  },
}

/** What an enquiry shows in place of what was asked for. */
const shownBy: Partial<Record<Fault, object>> = {
  'other amount': { amount: '0.06' },
  'other currency': { currency: 'UGX' },
  'other id': { externalId: '00000000-0000-4000-8000-000000000000' },
}

/** Starts MTN. */
export async function startMomo() {
  const stored = new Map<string, Stored>()
  const faults = new Map<string, Fault[]>()
  const sent: { reference: string; externalId: string }[] = []
  const violations: string[] = []
  const texts: string[] = []
  const tokens = new Set<string>()
  const callbacks = new Set<Promise<unknown>>()
  const check = createChecks(document, violations)
  let isPost = false

  /** Calls back twice, by POST and PUT in turn; MTN does not try again. */
  function callBack({ order, callbackUrl, status, reason }: Stored): void {
    const body = { financialTransactionId: '1', ...order, status, ...(reason && { reason }) }
    const once = async () => {
      isPost = !isPost
      const headers = { 'content-type': 'application/json' }
      const method = isPost ? 'POST' : 'PUT'
      await fetch(callbackUrl, { method, headers, body: JSON.stringify(body) }).catch(() => {})
    }
    const both = once().then(once)
    callbacks.add(both)
    void both.finally(() => callbacks.delete(both))
  }

  function decide(externalId: string): void {
    for (const one of stored.values()) {
      if (one.order.externalId === externalId && one.status === 'PENDING') settle(one)
    }
  }

  function settle(one: Stored): void {
    const isDebit = 'payer' in one.order
    const party = one.order[isDebit ? 'payer' : 'payee'] as { partyId: string }
    const reason = one.reason ?? outcomes[isDebit ? 'requesttopay' : 'transfer']?.[party.partyId]
    one.status = reason === undefined ? 'SUCCESSFUL' : 'FAILED'
    if (reason !== undefined) one.reason = reason
    callBack(one)
  }

  function create(request: IncomingMessage, order: Order): MockResponse | 'cut' {
    const reference = String(request.headers['x-reference-id'])
    const callbackUrl = String(request.headers['x-callback-url'])
    sent.push({ reference, externalId: order.externalId })
    const fault = faults.get(order.externalId)?.shift()
    if (fault === 'lost') return 'cut'
    if (fault === 'unavailable') return error(503, 'SERVICE_UNAVAILABLE')
    if (fault === 'refused') return error(500, 'PAYEE_NOT_FOUND')
    if (fault === 'token refused') {
      tokens.clear()
      return { status: 401, body: { statusCode: 401, message: 'Unauthorized' } }
    }
    if (fault === 'no funds') return error(500, 'NOT_ENOUGH_FUNDS')
    if (fault === 'rejected') return error(400, 'REQUEST_REJECTED')
    if (fault === 'malformed') return error(400, 'INVALID_CALLBACK_URL_HOST')
    if (stored.has(reference)) return error(409, 'RESOURCE_ALREADY_EXIST')
    if (order.currency !== 'EUR') return error(500, 'INVALID_CURRENCY')
    const unseen = fault === 'accepted unseen' ? 2 : 0
    const shown = (fault && shownBy[fault]) ?? {}
    const one: Stored = { order, callbackUrl, status: 'PENDING', unseen, shown }
    if (fault === 'fails without funds') one.reason = 'NOT_ENOUGH_FUNDS'
    stored.set(reference, one)
    if (fault !== 'undecided') setTimeout(() => settle(one), 20)
    return fault?.startsWith('accepted') === true ? 'cut' : { status: 202 }
  }

  function look(reference: string): MockResponse {
    const one = stored.get(reference)
    if (one === undefined || one.unseen-- > 0) return error(404, 'RESOURCE_NOT_FOUND')
    const { order, status, reason, shown } = one
    const code = reason === undefined ? {} : { reason: { code: reason, message: 'of a test' } }
    return { status: 200, body: { ...order, ...shown, status, ...code } }
  }

  function answer(request: IncomingMessage, path: string, text: string): MockResponse | 'cut' {
    const { authorization = '' } = request.headers
    if (request.headers['ocp-apim-subscription-key'] !== credentials.subscriptionKey)
      return { status: 401, body: { statusCode: 401, message: 'Access denied' } }
    if (path.endsWith('/token/')) {
      const basic = Buffer.from(`${credentials.apiUser}:${credentials.apiKey}`).toString('base64')
      if (authorization !== `Basic ${basic}`) return error(500, 'NOT_ALLOWED')
      const token = randomUUID()
      tokens.add(token)
      const body = { access_token: token, token_type: 'access_token', expires_in: 3_600 }
      return { status: 200, body }
    }
    if (!tokens.has(authorization.replace('Bearer ', '')))
      return { status: 401, body: { statusCode: 401, message: 'Unauthorized' } }
    if (request.headers['x-target-environment'] !== 'sandbox')
      return error(500, 'NOT_ALLOWED_TARGET_ENVIRONMENT')
    if (request.method === 'GET') return look(path.split('/').at(-1) ?? '')
    return create(request, JSON.parse(text) as Order)
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = Buffer.concat(await request.toArray()).toString()
    const path = request.url ?? ''
    texts.push(text)
    const operation = check.request(request, path, text)
    if (operation === undefined)
      return void response.writeHead(400).end('{"code":"REQUEST_REJECTED"}')
    const answered = answer(request, path, text)
    if (answered === 'cut') return void request.socket.destroy()
    const { status, body } = answered
    check.answer(operation, path, answered)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(body === undefined ? '' : JSON.stringify(body))
  }

  const server = await serveHttp((request, response) => void respond(request, response))
  return {
    url: server.baseUrl,
    /** Calls and answers that are not as the document says. */
    violations,
    /** Bodies of all calls. */
    texts,
    /** Answers the next calls that send this attempt, payout or refund so. */
    plan: (externalId: string, ...next: Fault[]) => void faults.set(externalId, next),
    /** Decides an undecided request. */
    decide,
    /** The references with which an attempt, payout or refund was sent, in order. */
    sentOf: (externalId: string) =>
      sent.filter((one) => one.externalId === externalId).map(({ reference }) => reference),
    /** How many requests of it MTN has accepted. */
    acceptedOf: (externalId: string) =>
      [...stored.values()].filter(({ order }) => order.externalId === externalId).length,
    async close() {
      await Promise.allSettled(callbacks)
      server.close()
    },
  }
}

const error = (status: number, code: string): MockResponse => ({
  status,
  body: { code, message: 'of a test' },
})
