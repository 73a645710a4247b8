// A mock server of Stripe, generated from connectors/stripe/openapi.yaml, with Stripe's test cards: the operations, every object of the answers, and the checks of every call and answer come from
// the document. Beside it is what the document does not have: the state of PaymentIntents and refunds, idempotency keys, webhooks.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Stripe } from 'stripe'
import { parse } from 'yaml'
import { serveHttp } from '../support/http-server.ts'
import {
  createChecks,
  type MockResponse,
  type OpenApi,
  readForm,
  sampleOf,
} from './openapi-checks.ts'
import { stripeDocument } from './stripe-document.ts'

export const secretKey = 'sk_test_payweave0of0a0test'
export const publishableKey = 'pk_test_payweave0of0a0test'
export const webhookSecret = 'whsec_payweave_of_a_test'

/** Stripe's test cards: https://docs.stripe.com/testing. */
export const cards = {
  good: '4242424242424242',
  declined: '4000000000000002',
  noFunds: '4000000000009995',
  lost: '4000000000009987',
  expired: '4000000000000069',
  wrongCvc: '4000000000000127',
  processingError: '4000000000000119',
  velocity: '4000000000006975',
  asks: '4000002760003184',
  /** Its refunds succeed, and fail later. */
  refundsFail: '4000000000005126',
} as const
const declines: Record<string, string> = {
  [cards.declined]: 'generic_decline',
  [cards.noFunds]: 'insufficient_funds',
  [cards.lost]: 'lost_card',
  [cards.expired]: 'expired_card',
  [cards.wrongCvc]: 'incorrect_cvc',
  [cards.processingError]: 'processing_error',
  [cards.velocity]: 'card_velocity_exceeded',
}

type Operation = 'create' | 'confirm' | 'cancel' | 'refund'
/**
 * How the next call of this operation is answered: `lost` and `unanswered` cut the connection before or after it is executed,
 * `500` and `500 executed` fail likewise and are repeated for the same key, `429` is not. A refund is refused for our balance, as
 * https://github.com/Automattic/woocommerce-payments/issues/10025 shows it or with 402 and a code, or it waits for our balance until `settleRefund`. `404` is the answer to a key of another account.
 */
export type Fault =
  | `${Operation} ${'lost' | 'unanswered' | '500' | '500 executed' | '429'}`
  | `refund ${'no balance' | 'no balance 402' | 'pending balance' | '400 rate limit' | '404'}`

type Intent = Record<string, unknown> & {
  id: string
  status: string
  amount: number
  client_secret: string
  metadata: Record<string, string>
  /** Absent at first, as the document allows. */
  last_payment_error?: object
}
type Refund = Record<string, unknown> & {
  id: string
  amount: number
  payment_intent: string
  status: string
  metadata: Record<string, string>
}
type Call = { operation: Operation; id: string; key: string; body: Record<string, unknown> }

const document = parse(readFileSync(stripeDocument, 'utf8')) as OpenApi
const sample = (name: string) => sampleOf(document, name)
/** The version of the API that the connector is written for, which each call names. */
const apiVersion = '2026-10-28.endive'
/** Refunds of these amounts stay pending, or fail after they were accepted. */
export const refundAmounts = { pending: 202, failed: 404 }
const minAmounts: Record<string, number> = { eur: 50, usd: 50, jpy: 50 }
const maxAmount = 99_999_999

/** Starts Stripe. */
export async function startStripe() {
  const intents = new Map<string, Intent>()
  const refunds = new Map<string, Refund>()
  const keys = new Map<string, MockResponse>()
  const faults = new Map<string, Fault[]>()
  /** PaymentIntents that were paid by `cards.refundsFail`. */
  const refundsFail = new Set<string>()
  const calls: Call[] = []
  const violations: string[] = []
  const texts: string[] = []
  const events = new Set<Promise<unknown>>()
  /** What has moved on the account, the oldest first. */
  const balance: { id: string; type: string; created: number; source: object }[] = []
  let webhookUrl = ''
  const check = createChecks(document, violations, readForm)

  /** Sends an event twice: Stripe sends it at least once. */
  function announce(type: string, object: object): void {
    const sent = post(eventOf(type, object)).catch(() => undefined)
    events.add(sent)
    void sent.finally(() => events.delete(sent))
  }
  async function post(payload: string): Promise<void> {
    for (let times = 0; times < 2; times += 1) await sendEvent(webhookUrl, payload)
  }

  function change(intent: Intent, status: string, changed: object = {}): Intent {
    Object.assign(intent, { status, ...changed })
    if (status === 'succeeded') moveCharge(intent)
    const type = status === 'requires_payment_method' ? 'payment_failed' : status
    announce(`payment_intent.${type}`, intent)
    return intent
  }

  function move(type: string, source: object): void {
    const id = `txn_${randomUUID().replaceAll('-', '')}`
    const created = Math.floor(Date.now() / 1_000)
    balance.push({ ...sample('balance_transaction'), id, type, created, source })
  }
  function moveCharge({ amount, metadata, currency }: Record<string, unknown>): void {
    const own = { amount, amount_captured: amount, metadata, currency }
    move('charge', { ...sample('charge'), ...own })
  }

  function create(body: Record<string, unknown>): MockResponse {
    const amount = Number(body['amount'])
    const currency = String(body['currency'])
    const min = minAmounts[currency]
    if (amount > maxAmount) return refusal(400, 'amount_too_large')
    if (min !== undefined && amount < min) return refusal(400, 'amount_too_small')
    const id = `pi_${randomUUID().replaceAll('-', '')}`
    const intent: Intent = {
      ...sample('payment_intent'),
      ...body,
      id,
      amount,
      amount_received: 0,
      client_secret: `${id}_secret_of0a0test`,
      currency,
      metadata: (body['metadata'] ?? {}) as Intent['metadata'],
      status: 'requires_payment_method',
    }
    intents.set(id, intent)
    return { status: 200, body: intent }
  }

  function confirm(intent: Intent, token: string): MockResponse {
    const [, number = '', isSpent] = token.split('_')
    if (intent.status !== 'requires_payment_method' || isSpent === 'spent') return state(intent)
    const decline = declines[number]
    if (decline === undefined) {
      const isAsked = number === cards.asks
      if (number === cards.refundsFail) refundsFail.add(intent.id)
      change(intent, isAsked ? 'requires_action' : 'succeeded', {
        amount_received: isAsked ? 0 : intent.amount,
        next_action: isAsked ? { type: 'use_stripe_sdk' } : null,
      })
      return { status: 200, body: intent }
    }
    const isDecline = !['expired_card', 'incorrect_cvc', 'processing_error'].includes(decline)
    const code = isDecline ? { code: 'card_declined', decline_code: decline } : { code: decline }
    const last_payment_error = { type: 'card_error', ...code }
    change(intent, 'requires_payment_method', { last_payment_error })
    return { status: 402, body: { error: { ...last_payment_error, payment_intent: intent } } }
  }

  function cancel(intent: Intent): MockResponse {
    if (intent.status === 'succeeded' || intent.status === 'canceled') return state(intent)
    return { status: 200, body: change(intent, 'canceled') }
  }

  function refund({ body, id }: Call, isUnfunded: boolean): MockResponse {
    const intent = intents.get(String(body['payment_intent']))
    if (intent?.status !== 'succeeded') return refusal(404, 'resource_missing')
    const of = [...refunds.values()].filter(
      (one) => one.payment_intent === intent.id && one.status !== 'failed',
    )
    const amount = Number(body['amount'])
    const refunded = of.reduce((sum, one) => sum + one.amount, 0)
    if (refunded === intent.amount) return refusal(400, 'charge_already_refunded')
    if (refunded + amount > intent.amount) return tooMuch()
    const isDone = !isUnfunded && !Object.values(refundAmounts).includes(amount)
    const status = isDone ? 'succeeded' : 'pending'
    const metadata = { payweave_refund: id }
    const made: Refund = {
      ...sample('refund'),
      id: `re_${randomUUID().replaceAll('-', '')}`,
      amount,
      status,
      metadata,
      payment_intent: intent.id,
      currency: intent['currency'],
      ...(isUnfunded && { pending_reason: 'insufficient_funds' }),
    }
    refunds.set(made.id, made)
    announce('refund.created', made)
    move('refund', made)
    const fails = amount === refundAmounts.failed || refundsFail.has(intent.id)
    if (fails) setTimeout(() => settleRefund(id, 'failed'), 20)
    return { status: 200, body: made }
  }

  function settleRefund(
    reference: string,
    status: 'succeeded' | 'failed',
    failure_reason?: string,
  ): void {
    for (const one of refunds.values()) {
      if (one.metadata['payweave_refund'] !== reference) continue
      Object.assign(one, { status, ...(failure_reason && { failure_reason }) })
      if (status === 'failed') move('refund_failure', one)
      announce(status === 'failed' ? 'refund.failed' : 'refund.updated', one)
    }
  }

  function execute(call: Call, intent: Intent | undefined, how?: string): MockResponse {
    if (call.operation === 'create') return create(call.body)
    if (how === 'no balance') return noBalance()
    if (how === 'no balance 402') return refusal(402, 'balance_insufficient')
    if (call.operation === 'refund') return refund(call, how === 'pending balance')
    if (intent === undefined) return refusal(404, 'resource_missing')
    if (call.operation === 'cancel') return cancel(intent)
    return confirm(intent, String(call.body['confirmation_token']))
  }

  function write(call: Call, intent: Intent | undefined): MockResponse | 'cut' {
    const { operation, id, key } = call
    calls.push(call)
    const planned = faults.get(id)
    const fault = planned?.[0]?.startsWith(`${operation} `) === true ? planned.shift() : undefined
    const how = fault?.slice(operation.length + 1)
    if (how === 'lost') return 'cut'
    if (how === '429') return refusal(429, 'rate_limit')
    if (how === '400 rate limit') return refusal(400, 'rate_limit')
    if (how === '404') return refusal(404, 'resource_missing')
    const known = keys.get(key)
    if (known !== undefined) return known
    const result = how === '500' ? refusal(500) : structuredClone(execute(call, intent, how))
    const answer = how === '500 executed' ? refusal(500) : result
    keys.set(key, answer)
    return how === 'unanswered' ? 'cut' : answer
  }

  function readBalance(query: URLSearchParams): MockResponse {
    const [from, to] = ['gte', 'lt'].map((bound) => Number(query.get(`created[${bound}]`)))
    const all = balance.filter(({ created }) => created >= (from ?? 0) && created < (to ?? 0))
    const newest = all.toReversed()
    const start = newest.findIndex(({ id }) => id === query.get('starting_after')) + 1
    const data = newest.slice(start, start + Number(query.get('limit')))
    const has_more = start + data.length < newest.length
    return {
      status: 200,
      body: { object: 'list', url: '/v1/balance_transactions', has_more, data },
    }
  }

  function read(path: string, query: URLSearchParams): MockResponse {
    const [, , kind, id] = path.split('/')
    if (kind === 'balance_transactions') return readBalance(query)
    const found = kind === 'refunds' ? refunds.get(id ?? '') : intents.get(id ?? '')
    if (kind === 'refunds' && id === undefined) {
      const of = query.get('payment_intent')
      const data = [...refunds.values()].filter((one) => one.payment_intent === of)
      return { status: 200, body: { object: 'list', url: '/v1/refunds', has_more: false, data } }
    }
    return found === undefined ? refusal(404, 'resource_missing') : { status: 200, body: found }
  }

  function answer(request: IncomingMessage, url: string, text: string): MockResponse | 'cut' {
    if (request.headers.authorization !== `Bearer ${secretKey}`) return refusal(401)
    const { pathname, searchParams } = new URL(url, 'http://localhost')
    if (request.method === 'GET') return read(pathname, searchParams)
    const [, , kind, intentId = '', verb] = pathname.split('/')
    const body = readForm(text)
    const intent = intents.get(intentId)
    const metadata = (body['metadata'] ?? intent?.metadata ?? {}) as Record<string, string>
    const operation = kind === 'refunds' ? 'refund' : ((verb ?? 'create') as Operation)
    const id = metadata[operation === 'refund' ? 'payweave_refund' : 'payweave_attempt'] ?? ''
    const key = String(request.headers['idempotency-key'])
    return write({ operation, id, key, body }, intent)
  }

  /** What Stripe takes in headers, which its document does not describe. */
  function checkHeaders({ method, headers, url }: IncomingMessage): void {
    if (headers['stripe-version'] !== apiVersion) violations.push(`${url}: no Stripe-Version`)
    const key = headers['idempotency-key']
    const isKey = typeof key === 'string' && /^.{1,255}$/.test(key)
    if (method === 'POST' && !isKey) violations.push(`${url}: no Idempotency-Key`)
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = Buffer.concat(await request.toArray()).toString()
    const url = request.url ?? ''
    texts.push(text)
    const described = check.request(request, url, text)
    checkHeaders(request)
    const answered =
      described === undefined ? refusal(400, 'undescribed') : answer(request, url, text)
    if (answered === 'cut') return void request.socket.destroy()
    if (described !== undefined) check.answer(described, url, answered)
    response.writeHead(answered.status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answered.body))
  }

  const server = await serveHttp((request, response) => void respond(request, response))
  const of = (id: string) =>
    [...intents.values()].filter(({ metadata }) => metadata['payweave_attempt'] === id)
  return {
    url: server.baseUrl,
    violations,
    /** Bodies of all calls. */
    texts,
    /** Where events are sent from now on. */
    sendEventsTo: (url: string) => void (webhookUrl = url),
    /** Answers the next calls about this attempt or refund so. */
    plan: (id: string, ...next: Fault[]) => void faults.set(id, next),
    /** The calls of an operation about an attempt or refund, in order. */
    callsOf: (id: string, operation: Operation) =>
      calls.filter((call) => call.id === id && call.operation === operation),
    /** The PaymentIntents of an attempt. */
    intentsOf: of,
    /** The refunds of a reference. */
    refundsOf: (reference: string) =>
      [...refunds.values()].filter(({ metadata }) => metadata['payweave_refund'] === reference),
    settleRefund,
    /** Somebody pays the account past Payweave. */
    payElsewhere: () => moveCharge({ amount: 100, currency: 'eur', metadata: {} }),
    /** The payer answers their bank, as Stripe.js lets them do with the client secret. */
    authenticate(clientSecret: string, isRight: boolean): void {
      const intent = [...intents.values()].find((one) => one.client_secret === clientSecret)
      if (intent?.status !== 'requires_action') throw new Error('nothing is asked')
      if (isRight)
        change(intent, 'succeeded', { amount_received: intent.amount, next_action: null })
      else {
        const code = 'payment_intent_authentication_failure'
        const last_payment_error = { type: 'invalid_request_error', code }
        change(intent, 'requires_payment_method', { last_payment_error, next_action: null })
      }
    },
    async close() {
      await Promise.allSettled(events)
      server.close()
    },
  }
}

/** The text of an event. */
export function eventOf(type: string, object: object): string {
  const id = `evt_${randomUUID().replaceAll('-', '')}`
  return JSON.stringify({ id, object: 'event', type, data: { object } })
}

/** Posts an event, signed by Stripe's library, and returns the status of the answer. */
export async function sendEvent(
  url: string,
  payload: string,
  signed: { secret?: string; ageS?: number } = {},
): Promise<number> {
  const { secret = webhookSecret, ageS = 0 } = signed
  const timestamp = Math.floor(Date.now() / 1_000) - ageS
  const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp })
  const headers = { 'content-type': 'application/json', 'stripe-signature': signature }
  return (await fetch(url, { method: 'POST', headers, body: payload })).status
}

function state(intent: Intent): MockResponse {
  const code = 'payment_intent_unexpected_state'
  const error = { type: 'invalid_request_error', code, payment_intent: intent }
  return { status: 400, body: { error } }
}

function noBalance(): MockResponse {
  const message = 'Insufficient funds in your Stripe balance to refund this amount.'
  const message_code = 'insufficient_balance_for_refund'
  return { status: 400, body: { error: { type: 'invalid_request_error', message, message_code } } }
}

/** As https://github.com/woocommerce/woocommerce-gateway-stripe/issues/1315 shows it: without a code. */
function tooMuch(): MockResponse {
  const message = 'Refund amount is greater than charge amount'
  const error = { type: 'invalid_request_error', message, param: 'amount' }
  return { status: 400, body: { error } }
}

function refusal(status: number, code?: string): MockResponse {
  const type = status >= 500 ? 'api_error' : 'invalid_request_error'
  return { status, body: { error: { type, message: 'of a test', ...(code && { code }) } } }
}
