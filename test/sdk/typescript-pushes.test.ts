// Tests how the TypeScript SDK reads pushes about payments, and verifies signed callbacks.
import { expect, it } from 'vitest'
import { signWebhook } from '#core/identity/seal.ts'
import {
  readPush,
  type SignatureOptions,
  verifyOnboardingCallback,
  verifySignature,
  WebhookError,
} from '../../clients/sdk-typescript/index.ts'
import { sealValue } from '../../clients/sdk-typescript/seal.ts'
import { against, errorOf, refused } from './harness.ts'

const headers = {
  'pw-delivery-id': 'd1',
  'pw-delivery-attempt': '2',
  'pw-event-id': 'e1',
  'pw-payment-details-id': 'p1',
}
const notify =
  '{"event_type":"payment_completed","transaction_id":"order-1","description":"\\"amount\\":1.5","payer":{"amount":90071992547409.93}}'

it('a push is read with its ids, and its amount to the last digit', () => {
  const push = readPush({ headers: new Headers(headers), rawBody: Buffer.from(notify) })
  expect(push).toMatchObject({
    deliveryId: 'd1',
    attempt: 2,
    eventId: 'e1',
    paymentDetailsId: 'p1',
    transactionId: 'order-1',
    kind: 'notify',
    body: { description: '"amount":1.5', payer: { amount: '90071992547409.93' } },
  })
})

it.each([
  ['no header', {}, notify],
  ['an attempt that is no number', { ...headers, 'pw-delivery-attempt': 'first' }, notify],
  ['no id of a payment request', headers, '{"event_type":"payment_completed"}'],
  ['no JSON', headers, 'amount=1'],
  ['another body', headers, '{"id":1}'],
  ['more than 64 KiB', headers, notify.replace('order-1', 'o'.repeat(65_536))],
  ['brackets without end', headers, '['.repeat(60_000)],
])('a request with %s is no push', (_, given, rawBody) => {
  expect(() => readPush({ headers: given, rawBody })).toThrow(
    expect.objectContaining({ name: 'WebhookError' }) as Error,
  )
})

it('a body that never ends its text is refused in linear time', () => {
  const rawBody = `"${String.raw`\"`.repeat(32_000)}`
  const start = process.cpuUsage()
  expect(() => readPush({ headers, rawBody })).toThrow(WebhookError)
  expect(process.cpuUsage(start).user).toBeLessThan(300_000)
})

it('a push is confirmed by the state of the payment, and refused for a payment that is not ours', async () => {
  const body = {
    transaction_request: { id: 'order-1' },
    payment_details: { status: 'paid' },
  }
  const { payweave, seen } = await against([{ status: 200, body }])
  const { payment } = await payweave.payments.confirmPush({ headers, rawBody: notify })
  expect(payment.payment_details.status).toBe('paid')
  expect(seen[0]?.url.searchParams.get('payment_details_id')).toBe('p1')
  const other = notify.replace('order-1', 'order-2')
  const forged = payweave.payments.confirmPush({ headers, rawBody: other })
  expect(await errorOf(forged)).toMatchObject({ name: 'WebhookError' })
  const unknown = (await against([refused(404, 'PAYMENT_NOT_FOUND')])).payweave.payments
  const strange = unknown.confirmPush({ headers, rawBody: notify })
  expect(await errorOf(strange)).toMatchObject({ name: 'WebhookError' })
})

const keys = [{ keyId: '0a0b0c0d', sharedKey: Buffer.alloc(32, 7).toString('base64') }] as const
const nowMs = 1_795_255_530_000
const rawBody = '{"request_id":"r1","institution_name":"Demo Wallet"}'
const signed = {
  headers: {
    ...headers,
    'PW-Signature': signWebhook(['secret'], nowMs / 1_000, rawBody),
    'authorisation-token': sealValue('my-own-token', keys[0], 'authorisation-token'),
  },
  rawBody,
  signingSecrets: ['newer', 'secret'],
  keys,
  authorisationToken: 'my-own-token',
  nowMs,
}

it('a signed callback is taken when signature and token are ours', () => {
  const { deliveryId, body } = verifyOnboardingCallback(signed)
  expect([deliveryId, body.institution_name]).toEqual(['d1', 'Demo Wallet'])
})

it('the token of a signed callback is found by its body, which is read once its signature is genuine', async () => {
  const read: unknown[] = []
  const verify = (token: string | undefined, change = {}) =>
    verifyOnboardingCallback({
      ...signed,
      authorisationToken: async ({ request_id }) => {
        read.push(request_id)
        return token
      },
      ...change,
    })
  expect((await verify('my-own-token')).body.request_id).toBe('r1')
  expect(await errorOf(verify('another-token'))).toBeInstanceOf(WebhookError)
  expect(await errorOf(verify(undefined))).toBeInstanceOf(WebhookError)
  expect(read).toEqual(['r1', 'r1', 'r1'])
  expect(await errorOf(verify('my-own-token', { signingSecrets: ['newer'] }))).toBeInstanceOf(
    WebhookError,
  )
  expect(read).toHaveLength(3)
})

it('a call that leads to a signed callback returns the id by which the callback is found', async () => {
  const made = { request_id: 'r1', data: { account_id: 'a1' }, challengeId: 'c1' }
  const { accounts } = (await against([{ status: 200, body: made }])).payweave
  const holder = {
    first_name: 'Efua',
    last_name: 'Sutherland',
    mobile_number: '+12025550100',
    institution_name: 'Demo Wallet',
  }
  const profile = { ...holder, email: 'efua@example.com' }
  const account = { account_id: 'a1', request_id: 'r1' }
  expect(await accounts.createPersonal(profile)).toEqual(account)
  expect(await accounts.createPersonalWithDocuments(profile)).toEqual(account)
  const secrets = { session_token: 's', authorisation_token: 't', callback_url: 'https://x' }
  expect(await accounts.register({ ...holder, ...secrets })).toMatchObject({
    request_id: 'r1',
    challengeId: 'c1',
  })
})

it.each([
  ['without the secret', { signingSecrets: ['newer'] }],
  ['too late', { nowMs: nowMs + 301_000 }],
  ['too late for a smaller tolerance', { nowMs: nowMs + 11_000, toleranceS: 10 }],
  ['with another body', { rawBody: `${rawBody} ` }],
  ['with the token of another account', { authorisationToken: 'another-token' }],
  ['without the key of the token', { keys: [] }],
  ['without a signature', { headers }],
])('a signed callback is refused %s', (_, change) => {
  expect(() => verifyOnboardingCallback({ ...signed, ...change })).toThrow(
    expect.objectContaining({ name: 'WebhookError' }) as Error,
  )
})

it('a signature is checked against the clock unless the caller names another time', () => {
  const now = Math.floor(Date.now() / 1_000)
  const isValid = (t: number, more: Partial<SignatureOptions> = {}) =>
    verifySignature(signWebhook(['secret'], t, rawBody), rawBody, {
      signingSecrets: ['secret'],
      ...more,
    })
  expect(isValid(now)).toBe(true)
  expect(isValid(now - 400)).toBe(false)
  expect(isValid(now - 400, { toleranceS: 500 })).toBe(true)
  expect(isValid(now - 400, { nowS: now - 399 })).toBe(true)
  expect(isValid(now, { nowS: Number.NaN })).toBe(false)
  expect(isValid(now, { toleranceS: Number.NaN })).toBe(false)
})

it.each<[string, unknown]>([
  ['an empty secret', ['secret', '']],
  ['one text in place of a list', 'secret'],
])('a callback is never verified with %s', (_, given) => {
  const signingSecrets = given as string[]
  expect(() => verifyOnboardingCallback({ ...signed, signingSecrets })).toThrow(TypeError)
  const header = signWebhook([''], nowMs / 1_000, rawBody)
  const options = { signingSecrets, toleranceS: 300, nowS: nowMs / 1_000 }
  expect(() => verifySignature(header, rawBody, options)).toThrow(TypeError)
})
