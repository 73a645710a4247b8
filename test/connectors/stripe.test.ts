// The connector of Stripe, as a process before a mock of Stripe: it passes the conformance kit as far as the rail goes, believes no event, and neither loses nor doubles money when answers
// are lost or it is killed. No card comes to it.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parse } from 'yaml'
import {
  AttemptOutcome,
  type RefusalReason,
  WithdrawReason,
} from '#gen/payweave/backend/v1/charges_pb.js'
import {
  announce,
  type BackendCheck,
  type CheckContext,
  newCharge,
  newReference,
  reported,
} from '../../tools/conformance/backend/check.ts'
import { eventually } from '../support/eventually.ts'
import { serveHttp } from '../support/http-server.ts'
import { type ConnectorProcess, checkGroups, prepareConnector } from './harness.ts'
import { documentOf, stripeDocument } from './stripe-document.ts'
import {
  cards,
  eventOf,
  type Fault,
  publishableKey,
  refundAmounts,
  secretKey,
  sendEvent,
  startStripe,
  webhookSecret,
} from './stripe-mock.ts'
import { payerAt, settingsOf } from './stripe-payer.ts'

const somebody = { mobile_number: '+46733123999' }
const pagesOrigin = 'https://pay.example'
let stripe: Awaited<ReturnType<typeof startStripe>>
let forms: Awaited<ReturnType<typeof serveHttp>>
let connector: ConnectorProcess
let webhookUrl = ''

beforeAll(async () => {
  stripe = await startStripe()
  forms = await serveHttp((request, response) => {
    void (async () => {
      const text = Buffer.concat(await request.toArray()).toString()
      const { url, fields } = JSON.parse(text) as { url: string; fields: { number: string } }
      await payerAt(stripe, url).pay(fields.number)
      response.end()
    })().catch(() => response.writeHead(500).end())
  })
  connector = await prepareConnector({
    name: 'stripe',
    identity: 'connector-stripe',
    migrations: 'migrations',
    formsUrl: forms.baseUrl,
    secrets: {
      'stripe-secret-key': secretKey,
      'stripe-webhook-secret': `whsec_the_next_one\n${webhookSecret}`,
    },
    variables: (origin) => {
      webhookUrl = `${origin}/webhooks/stripe`
      return { STRIPE_URL: stripe.url, STRIPE_PUBLISHABLE_KEY: publishableKey }
    },
  })
  stripe.sendEventsTo(webhookUrl)
  await connector.start()
})
afterAll(async () => {
  await stripe.close()
  forms.close()
  await connector.remove()
})

/** Runs something with the clients and reports of the kit. */
async function withContext(run: (context: CheckContext) => Promise<void>): Promise<void> {
  const check: BackendCheck = { name: 'stripe/own', rule: 'A rule of this file.', needs: [], run }
  const [result] = await connector.run([check])
  expect(result?.reason).toBeUndefined()
  expect(result?.result).toBe('passed')
}

/** A payer at the form of a new charge. */
async function open(context: CheckContext, money: { currency?: string; minorUnits?: bigint } = {}) {
  const charge = newCharge(context, somebody)
  const amount = { ...charge.amount, ...money }
  await context.charges.announceCharges({ charges: [{ ...charge, amount }] })
  const { chargeId } = charge
  const returnUrl = `${pagesOrigin}/pay/x`
  const { frameUrl } = await context.charges.openCardFrame({ chargeId, returnUrl })
  return { chargeId, frameUrl, payer: payerAt(stripe, frameUrl) }
}

/** Sends a card whose calls Stripe answers as planned. */
async function send(context: CheckContext, number: string, ...faults: Fault[]) {
  const opened = await open(context)
  const attemptId = randomUUID()
  stripe.plan(attemptId, ...faults)
  await opened.payer.send(number, attemptId)
  return { ...opened, attemptId }
}

it('the description of Stripe is a valid OpenAPI document with the licence of Stripe, and nothing but its cut', async () => {
  const text = readFileSync(stripeDocument, 'utf8')
  const document = parse(text) as Record<string, unknown> & { info: object }
  expect(await new Validator().validate(document)).toMatchObject({ valid: true })
  expect(documentOf(document)).toBe(text)
  expect(text).toMatch(/The MIT License[\s\S]+Copyright \(c\) 2011- Stripe, Inc\./)
})

/** What cards and refunds without wallets, payouts, transfers, bills, reviews and rates can show. */
const shown = new Set(['access', 'charges', 'reports', 'cards', 'refunds'])
/** It waits for the time-out of the kit's reports: the example's test runs it. */
const sameForAll = 'reports/repeated-after-time-out'

it.each(checkGroups)('the connector keeps every rule of %s that Stripe can show', async (group) => {
  const results = await connector.runGroup(group, sameForAll)
  const of = (wanted: string) => results.filter(({ result }) => result === wanted)
  expect(of('failed').map(({ name, reason }) => `${name}: ${reason ?? ''}`)).toEqual([])
  expect(of('passed').length > 0, group).toBe(shown.has(group))
  const unsupported = of('skipped').filter(({ reason = '' }) => reason.startsWith('unsupported: '))
  expect(unsupported.length > 0, group).toBe(!shown.has(group))
})

it('only payers’ pages may frame the form, only the scripts of Stripe and its own run in it, and it has no field for a card', () =>
  withContext(async (context) => {
    const { frameUrl } = await open(context)
    const response = await fetch(`${frameUrl}?lang=ar&accent=0b57d0&dark=a8c7fa`)
    const html = await response.text()
    const policy = response.headers.get('content-security-policy') ?? ''
    const directives = new Map(
      policy.split('; ').map((one) => {
        const [name = '', ...sources] = one.split(' ')
        return [name, sources.filter((source) => !source.startsWith("'nonce-"))]
      }),
    )
    const js = ['https://js.stripe.com', 'https://*.js.stripe.com']
    expect(Object.fromEntries(directives)).toEqual({
      'default-src': ["'none'"],
      'script-src': ["'self'", ...js],
      'style-src': ["'self'"],
      'connect-src': ["'self'", 'https://api.stripe.com'],
      'frame-src': [...js, 'https://hooks.stripe.com'],
      'form-action': ["'none'"],
      'base-uri': ["'none'"],
      'frame-ancestors': [pagesOrigin],
    })
    expect(html).toMatch(/<html lang="ar" dir="rtl">/)
    expect(html).toContain('--accent: #0b57d0')
    expect(html).not.toMatch(/<input|<script(?![^>]* src=)| on\w+=/)
    expect(html).not.toContain(secretKey)
    expect(settingsOf(html)).toMatchObject({
      host: pagesOrigin,
      publishableKey,
      amount: 1250,
      currency: 'eur',
      locale: 'ar',
    })
    const sources = [...html.matchAll(/<script src="([^"]*)"/g)].map(([, src]) => src)
    expect(sources).toEqual(['https://js.stripe.com/endive/stripe.js', '../card.js'])
    for (const name of ['card.js', 'card.css'])
      expect((await fetch(new URL(`../${name}`, frameUrl))).status).toBe(200)
    expect((await fetch(new URL('unknown', frameUrl))).status).toBe(404)
  }))

const refused: [string, keyof typeof RefusalReason][] = [
  [cards.declined, 'DECLINED'],
  [cards.noFunds, 'INSUFFICIENT_FUNDS'],
  [cards.lost, 'DECLINED'],
  [cards.expired, 'INVALID_DETAILS'],
  [cards.wrongCvc, 'WRONG_CREDENTIALS'],
  [cards.processingError, 'UNAVAILABLE'],
  [cards.velocity, 'LIMIT_EXCEEDED'],
]
it('each decline is reported with its reason once its PaymentIntent is cancelled, and the payer may try another card', () =>
  withContext(async (context) => {
    await Promise.all(
      refused.map(async ([number, reason]) => {
        const { chargeId, payer, attemptId } = await send(context, number)
        expect((await reported(context, chargeId, 'REFUSED')).refusalReason).toBe(reason)
        expect(stripe.intentsOf(attemptId).map(({ status }) => status)).toEqual(['canceled'])
        const { outcome, message } = await payer.look(attemptId)
        expect([outcome, message]).toEqual(['refused', expect.stringContaining('declined')])
        expect(message).not.toMatch(/lost|fraud/i)
        expect(await payer.pay(cards.good)).toEqual({ outcome: 'paid' })
        await reported(context, chargeId, 'PAID')
      }),
    )
  }))

it('a bank that asks the payer is answered in the form; who fails there, or leaves until the charge is withdrawn, does not pay', () =>
  withContext(async (context) => {
    const right = await open(context)
    expect(await right.payer.pay(cards.asks)).toEqual({ outcome: 'paid' })
    expect((await reported(context, right.chargeId, 'PAID')).paymentMethod).toBe('CARD')
    const wrong = await open(context)
    expect(await wrong.payer.pay(cards.asks, false)).toMatchObject({ outcome: 'refused' })
    const { refusalReason } = await reported(context, wrong.chargeId, 'REFUSED')
    expect(refusalReason).toBe('NOT_CONFIRMED')

    const left = await send(context, cards.asks)
    await left.payer.settled(left.attemptId)
    const page = settingsOf(await (await fetch(left.frameUrl)).text())
    expect(page).toMatchObject({ openAttemptId: left.attemptId })
    const reason = WithdrawReason.CANCELLED
    await context.charges.withdrawCharges({ withdrawals: [{ chargeId: left.chargeId, reason }] })
    await reported(context, left.chargeId, 'REFUSED')
    expect(stripe.intentsOf(left.attemptId)[0]?.status).toBe('canceled')
  }))

it('who repeats the requests of a form is refused before they use up the requests that Stripe allows the account', () =>
  withContext(async (context) => {
    const { payer, attemptId } = await send(context, cards.asks)
    await payer.settled(attemptId)
    const begun = performance.now()
    const answers = await Promise.allSettled(
      Array.from({ length: 100 }, () => payer.secret(attemptId)),
    )
    const refused = answers.filter(({ status }) => status === 'rejected')
    expect(100 - refused.length).toBeGreaterThan(9)
    expect(100 - refused.length).toBeLessThan(21 + (performance.now() - begun) / 1_000)
    expect(String((refused[0] as PromiseRejectedResult).reason)).toContain('429')
    const other = await open(context)
    expect(await other.payer.pay(cards.asks)).toEqual({ outcome: 'paid' })
  }))

it('a card is charged once though Stripe is down, loses calls, answers late or not, or fails after it has executed them', () =>
  withContext(async (context) => {
    const faults: Fault[][] = [
      ['create lost', 'create unanswered'],
      ['create 500', 'create 500 executed', 'confirm 429'],
      ['confirm lost', 'confirm unanswered'],
      ['confirm 500'],
      ['confirm 500 executed'],
    ]
    await Promise.all(
      faults.map(async (some) => {
        const { chargeId, attemptId } = await send(context, cards.good, ...some)
        await reported(context, chargeId, 'PAID')
        const paid = stripe.intentsOf(attemptId).filter(({ status }) => status === 'succeeded')
        expect(paid).toHaveLength(1)
      }),
    )
    // Money that had moved when the charge was withdrawn is reported.
    const late = await send(context, cards.good, 'confirm unanswered')
    await eventually(() => stripe.callsOf(late.attemptId, 'confirm').length > 0)
    const withdrawn = { chargeId: late.chargeId, reason: WithdrawReason.CANCELLED }
    await context.charges.withdrawCharges({ withdrawals: [withdrawn] })
    await reported(context, late.chargeId, 'PAID')
  }))

it('a refusal waits until the intent is cancelled, however often Stripe fails to do so', () =>
  withContext(async (context) => {
    const faults: Fault[] = ['confirm unanswered', 'cancel lost', 'cancel 500', 'cancel unanswered']
    const { chargeId, attemptId } = await send(context, cards.noFunds, ...faults)
    const { refusalReason } = await reported(context, chargeId, 'REFUSED')
    expect(refusalReason).toBe('INSUFFICIENT_FUNDS')
    expect(stripe.callsOf(attemptId, 'cancel').length).toBeGreaterThan(3)
    const keys = stripe.callsOf(attemptId, 'confirm').map(({ key }) => key)
    expect(new Set(keys).size).toBe(1)
  }))

it('an event needs a signature of one of the secrets over its bytes that is at most five minutes old, and counts once', () =>
  withContext(async (context) => {
    const { chargeId, payer, attemptId } = await send(context, cards.asks)
    await payer.settled(attemptId)
    const [intent = {}] = stripe.intentsOf(attemptId)
    const forged = { ...intent, status: 'succeeded', amount_received: 1250 }
    const event = eventOf('payment_intent.succeeded', forged)
    expect(await sendEvent(webhookUrl, event, { secret: 'whsec_of_somebody_else' })).toBe(401)
    expect(await sendEvent(webhookUrl, event, { ageS: 301 })).toBe(401)
    expect(await sendEvent(webhookUrl, event, { ageS: 290 })).toBe(200)
    expect(await sendEvent(webhookUrl, event)).toBe(200)
    expect(await sendEvent(webhookUrl, event, { secret: 'whsec_the_next_one' })).toBe(200)
    const unsigned = await fetch(webhookUrl, { method: 'POST', body: event })
    expect(unsigned.status).toBe(401)
    for (const none of ['{}', '[]', 'null', '{"id":1,"type":"x"}'])
      expect(await sendEvent(webhookUrl, none)).toBe(400)
    // What an event says counts nothing beside what Stripe answers.
    expect((await payer.look(attemptId)).outcome).toBe('action')
    expect(context.reports.of(chargeId)).toEqual([])
    stripe.authenticate((await payer.secret(attemptId)) ?? '', true)
    const late = eventOf('payment_intent.payment_failed', intent)
    expect(await sendEvent(webhookUrl, late)).toBe(200)
    await reported(context, chargeId, 'PAID')
    expect(await sendEvent(webhookUrl, eventOf('account.updated', {}))).toBe(200)
    const { outcome } = await context.charges.getAttempt({ attemptId })
    expect(outcome).toBe(AttemptOutcome.PAID)
  }))

it('amounts are sent in the units of Stripe, and what Stripe cannot move exactly or does not take is refused', () =>
  withContext(async (context) => {
    const sent: [string, bigint, number][] = [
      ['JPY', 500n, 500],
      ['UGX', 5n, 500],
      ['KWD', 5120n, 5120],
      ['MGA', 1200n, 12],
    ]
    await Promise.all(
      sent.map(async ([currency, minorUnits, amount]) => {
        const { chargeId, payer } = await open(context, { currency, minorUnits })
        expect(await payer.pay(cards.good)).toEqual({ outcome: 'paid' })
        const { attemptId } = await reported(context, chargeId, 'PAID')
        expect(stripe.intentsOf(attemptId)).toMatchObject([
          { amount, currency: currency.toLowerCase() },
        ])
      }),
    )
    const inexact = await open(context, { currency: 'KWD', minorUnits: 5124n })
    expect(await (await fetch(inexact.frameUrl)).text()).toContain('cannot be made by card here')
    const attemptId = await inexact.payer.send(cards.good)
    const { refusalReason } = await reported(context, inexact.chargeId, 'REFUSED')
    expect(refusalReason).toBe('NOT_PERMITTED')
    expect(stripe.callsOf(attemptId, 'create')).toEqual([])
    const limits: [bigint, string][] = [
      [49n, 'NOT_PERMITTED'],
      [100_000_000n, 'LIMIT_EXCEEDED'],
    ]
    for (const [minorUnits, reason] of limits) {
      const { chargeId, payer } = await open(context, { minorUnits })
      expect((await payer.pay(cards.good)).outcome).toBe('refused')
      expect((await reported(context, chargeId, 'REFUSED')).refusalReason).toBe(reason)
    }
  }))

/** A charge that is paid, and a refund of a part of it whose calls Stripe answers as planned. */
async function payBack(context: CheckContext, minorUnits: bigint, ...faults: Fault[]) {
  const { chargeId, payer } = await open(context)
  await payer.pay(cards.good)
  const refundId = newReference(context)
  stripe.plan(refundId, ...faults)
  const amount = { currency: context.map.currency, minorUnits }
  await context.payouts.createRefund({ refundId, chargeId, amount })
  return { chargeId, refundId }
}

it('a refund is made once though its call is lost or not answered, and fails when Stripe cannot make it', () =>
  withContext(async (context) => {
    const faults: Fault[][] = [
      ['refund lost', 'refund 429'],
      ['refund unanswered'],
      ['refund 500 executed'],
    ]
    await Promise.all(
      faults.map(async (some) => {
        const { refundId } = await payBack(context, 100n, ...some)
        await reported(context, refundId, 'COMPLETED')
        expect(stripe.refundsOf(refundId)).toHaveLength(1)
      }),
    )
    const failed = await payBack(context, BigInt(refundAmounts.failed))
    await reported(context, failed.refundId, 'FAILED')
    const tooMuch = await payBack(context, 1251n)
    await reported(context, tooMuch.refundId, 'FAILED')
    expect(stripe.refundsOf(tooMuch.refundId)).toEqual([])
    const pending = await payBack(context, BigInt(refundAmounts.pending))
    await eventually(() => stripe.refundsOf(pending.refundId).length === 1)
    expect(context.reports.of(pending.refundId)).toEqual([])
    stripe.settleRefund(pending.refundId, 'succeeded')
    await reported(context, pending.refundId, 'COMPLETED')
    // What an event says counts only when Stripe says so too.
    const [made = {}] = stripe.refundsOf(pending.refundId)
    const forged = eventOf('refund.failed', { ...made, status: 'failed' })
    expect(await sendEvent(webhookUrl, forged)).toBe(200)
    stripe.settleRefund(pending.refundId, 'failed')
    await reported(context, pending.refundId, 'RETURNED')
    expect(context.reports.of(pending.refundId).map(({ outcome }) => outcome)).toEqual([
      'COMPLETED',
      'RETURNED',
    ])
    const unpaid = await announce(context, somebody)
    const amount = { currency: 'EUR', minorUnits: 1n }
    const call = context.payouts.createRefund({ refundId: randomUUID(), chargeId: unpaid, amount })
    await expect(call).rejects.toMatchObject({ reason: 'CHARGE_NOT_FOUND' })
  }))

it('an attempt that the process was killed in is paid once, without an event', () =>
  withContext(async (context) => {
    const { chargeId, payer, attemptId } = await send(context, cards.asks)
    await payer.settled(attemptId)
    const secret = (await payer.secret(attemptId)) ?? ''
    await connector.end('SIGKILL')
    stripe.authenticate(secret, true)
    await connector.start()
    await reported(context, chargeId, 'PAID')
    expect(stripe.callsOf(attemptId, 'confirm')).toHaveLength(1)
  }))

it('nothing was sent that the description does not have, and neither a card nor the number of a payer', () => {
  expect(stripe.violations).toEqual([])
  expect(stripe.texts.length).toBeGreaterThan(50)
  const isPrivate = (text: string) =>
    text.includes(somebody.mobile_number.slice(1)) || /card\[/.test(text)
  expect(stripe.texts.filter(isPrivate)).toEqual([])
})
