// The requests of the load, as bytes around the one place that differs.
import type { SandboxFile } from '../../../deploy/local/sandbox-file.ts'

/** The credentials and the target. */
export type Target = {
  port: number
  subscriptionKey: string
  apiKey: string
}

/** A request as text before and after an id of a fixed length, and the status of a good answer. */
export type RequestShape = { before: string; after: string; idLength: number; status: number }

/** Length of the transaction ids that the load makes up. */
const transactionIdLength = 24
const paymentIdLength = 36
const requestIdLength = 36

/** The demo project of a sandbox. */
export function targetOf(sandbox: SandboxFile, port: number): Target {
  const { subscription_key, api_key } = sandbox.projects.demo
  return { port, subscriptionKey: subscription_key, apiKey: api_key }
}

/** Body of POST /payments/request: a payer who never acts, the payee by default, and pushes if a receiver is given. */
export function createBody(target: Target, transactionId: string, receiver?: string): string {
  return JSON.stringify({
    api_key: target.apiKey,
    transaction_request: {
      id: transactionId,
      amount: '125.50',
      currency: 'USD',
      description: 'Two tickets for the evening show',
      fraud_check: 0,
      fees: { pays_fees: 0, payer_covers: 100 },
      payers: [
        {
          mobile_number: '+12025550108',
          first_name: 'Kofi',
          last_name: 'Boateng',
          email: 'kofi@example.com',
          payment_channel: 'payment_link',
          payment_method: 'wallet',
          amount: '125.50',
        },
      ],
      ...(receiver === undefined ? {} : { urls: { notify: receiver, callback: receiver } }),
    },
  })
}

/** The headers that the contract asks of every call. */
export function edgeHeaders(target: Target): Record<string, string> {
  return {
    'pw-subscription-key': target.subscriptionKey,
    'pw-origin-country': 'US',
    'pw-request-date': new Date().toISOString().slice(0, 19).replace('T', ' '),
    'pw-ip-address': '127.0.0.1',
    'user-agent': 'payweave-bench/1.0',
  }
}

/** POST /payments/request, each with a transaction id of its own. */
export function createShape(target: Target, receiver?: string): RequestShape {
  const mark = '~'.repeat(transactionIdLength)
  const body = createBody(target, mark, receiver)
  const head = headOf('POST /payments/request?version=2024-10-01', target, {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
  })
  return split(head + body, mark)
}

/** POST /bill_payments/pay, each with an idempotency key of its own. */
export function billShape(target: Target): RequestShape {
  const mark = '~'.repeat(transactionIdLength)
  const body = JSON.stringify({
    biller_code: 'DEMO_POWER',
    product_code: 'PREPAID',
    amount: '1.25',
    currency: 'USD',
    customer_reference: '12345678',
    customer_mobile_no: '+12025550108',
    external_reference: 'order-1001',
    id_type: 'DP',
    id_number: 'AB123456',
    description: 'Prepaid electricity for March',
  })
  const head = headOf('POST /bill_payments/pay?version=2026-07-01', target, {
    'idempotency-key': mark,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
  })
  return split(head + body, mark, 201)
}

/** POST /quote of 10.00 USD in TTD, each naming an organization of its own. */
export function quoteShape(target: Target, sessionToken: string): RequestShape {
  const mark = '~'.repeat(transactionIdLength)
  const body = JSON.stringify({
    session_token: sessionToken,
    institution_name: 'Demo Wallet',
    request_amount: '10.00',
    request_currency: 'USD',
    debit_party: { mobile_number: '+12025550100', organization_id: mark },
    credit_party: { mobile_number: '+12025550105', currency: 'TTD' },
  })
  const head = headOf('POST /quote?version=2024-10-01', target, {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
  })
  return split(head + body, mark)
}

/** POST /account/account_session for one holder, each with a request id of its own. */
export function sessionShape(target: Target): RequestShape {
  const mark = '~'.repeat(requestIdLength)
  const body = JSON.stringify({
    lookup_type: 'MOBILE',
    lookup_value: '+12025550100',
    institution_name: 'Demo Wallet',
  })
  const head = headOf('POST /account/account_session?version=2024-10-01', target, {
    'pw-request-id': mark,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
  })
  return split(head + body, mark)
}

/** POST /institution/transaction with whole bodies, all of one length, in the place of ids. */
export function transferShape(target: Target, bodies: readonly string[]): RequestShape {
  const idLength = bodies[0]?.length ?? 0
  if (bodies.some((body) => body.length !== idLength))
    throw new Error('the bodies differ in length')
  const before = headOf('POST /institution/transaction?version=2024-10-01', target, {
    'content-type': 'application/json',
    'content-length': String(idLength),
  })
  return { before, after: '', idLength, status: 200 }
}

/** GET /payments/status, each of some payment. */
export function statusShape(target: Target): RequestShape {
  const mark = '~'.repeat(paymentIdLength)
  const query = `version=2024-10-01&api_key=${target.apiKey}&payment_details_id=${mark}`
  return split(headOf(`GET /payments/status?${query}`, target, {}), mark)
}

function headOf(line: string, target: Target, more: Record<string, string>): string {
  const headers = { host: `127.0.0.1:${target.port}`, ...edgeHeaders(target), ...more }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return `${line} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`
}

function split(text: string, mark: string, status = 200): RequestShape {
  const at = text.indexOf(mark)
  const idLength = mark.length
  return { before: text.slice(0, at), after: text.slice(at + idLength), idLength, status }
}
