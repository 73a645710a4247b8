// What the settings of a start change: lives of requests, limits, fees, fraud rules, pushes.
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Mesh, startMesh } from '../support/mesh.ts'
import { accountClient, callbackReceiver, dataOf, tokenOf } from './account-client.ts'
import { open } from './browser.ts'
import { expectRefused } from './refusal.ts'
import {
  type Answer,
  detailsOf,
  eventTypes,
  eventually,
  type Json,
  type Merchant,
  merchant,
  order,
  payer,
  payerStatesOf,
  person,
  receiver,
  requestDate,
  strangersNumber,
} from './world.ts'

let mesh: Mesh
let shop: Merchant

beforeAll(async () => {
  mesh = await startMesh({
    name: 'settings',
    settings: {
      PAYMENT_TTL_DIRECT_POS_S: '2',
      PAYMENT_TTL_PAYMENT_LINK_S: '4',
      PAYMENT_TTL_AGENT_S: '6',
      REQUEST_DATE_TOLERANCE_S: '60',
      RATE_LIMIT_RPS: '50',
      DELIVERY_SCHEDULE_S: '1',
      SESSION_TTL_S: '2',
      SESSION_LOOKUPS_PER_MIN: '5',
      CHALLENGE_TTL_S: '1',
      FEE_SCHEDULE: JSON.stringify({
        card_processing: '10.00',
        platform_processing: '1.00',
        agent_processing: '2.00',
        convenience: '3.00',
      }),
      FRAUD_RULES: JSON.stringify({
        velocity_per_min: 2,
        ceilings: { EUR: '5.00' },
        blocked_mobile_numbers: [person(33)],
      }),
    },
  })
  shop = merchant(mesh)
})
afterAll(() => mesh.remove())

/** A time of GET status, which tells whole seconds. */
function timeMs(answer: Answer, name: 'created_time' | 'expire_time'): number {
  const timestamps = detailsOf(answer)['timestamps'] as Record<string, string>
  return Date.parse(`${timestamps[name]?.replace(' ', 'T')}Z`)
}

function lifeS(answer: Answer): number {
  return (timeMs(answer, 'expire_time') - timeMs(answer, 'created_time')) / 1000
}

describe('a request that nobody pays in time', { concurrent: true }, () => {
  it.each([
    ['direct_pos', 'qr_code', 2],
    ['payment_link', 'wallet', 4],
    ['agent', 'cash', 6],
  ])(
    'by %s with %s expires after its %i seconds',
    async (payment_channel, payment_method, ttlS) => {
      const inbox = receiver(mesh)
      const payers = [payer(20, { payment_channel, payment_method })]
      const created = await shop.create(order({ payers, urls: inbox.urls }))
      const before = await shop.status(created.id)
      expect(detailsOf(before)['status']).toBe('Pending')
      expect(lifeS(before)).toBe(ttlS)
      const callbacks = await inbox.calledBack(1)
      expect(Date.now()).toBeGreaterThanOrEqual(timeMs(before, 'expire_time'))
      const after = await shop.status(created.id)
      expect(after.body).toMatchObject({
        transaction_request: { status: 'expired' },
        payment_details: {
          status: 'Expired',
          payments_status: { paid: '0.00 TTD', remaining: '100.00 TTD' },
        },
        payers: [{ status: 'Expired' }],
      })
      const { transaction_request, payment_details, payers: shown } = after.body
      expect(callbacks).toMatchObject([
        { status: 'Expired', sequence: 1, transaction_request, payment_details, payers: shown },
      ])
      const told = await inbox.told(['payment_initiated', 'payment_expired'])
      expect(told.find(({ event_type }) => event_type === 'payment_expired')).toMatchObject({
        status: 'EXPIRED',
        payer: { mobile_number: person(20), amount: 100, currency: 'TTD' },
      })
      const page = await open(created.urls[0] ?? '')
      expect(page.html).toMatch(/expired/i)
      expect(page.html).not.toContain('<form')
      expectRefused(await shop.cancel(created.id), {
        status: 409,
        errorCode: 'PAYMENT_NOT_CANCELLABLE',
      })
    },
  )

  it('expires with the first of its payers', async () => {
    const inbox = receiver(mesh)
    const payers = [
      payer(20, { amount: '50.00', payment_channel: 'direct_pos' }),
      payer(21, { amount: '50.00', payment_channel: 'agent', payment_method: 'cash' }),
    ]
    const created = await shop.create(order({ payers, urls: inbox.urls }))
    const startedMs = Date.now()
    await inbox.calledBack(1)
    expect(Date.now() - startedMs).toBeLessThan(5_500)
    const after = await shop.status(created.id)
    expect(detailsOf(after)['status']).toBe('Expired')
    expect(payerStatesOf(after)).toEqual(['Expired', 'Expired'])
  })

  it('gives back what was paid when another payer lets it expire', async () => {
    const inbox = receiver(mesh)
    const payers = [payer(1, { amount: '60.00' }), payer(20, { amount: '40.00' })]
    const created = await shop.create(order({ payers, urls: inbox.urls }))
    await inbox.told(['payment_completed', 'payment_expired', 'payment_refunded'])
    const after = await shop.status(created.id)
    expect(detailsOf(after)['status']).toBe('Expired')
    expect(payerStatesOf(after)).toEqual(['Refunded', 'Expired'])
    const money = await mesh.rows<Json>(
      `select kind, amount_minor from payments.settlement
       where payment_id = $1 and kind in ('payer_receipt', 'refund') order by kind`,
      [created.id],
    )
    expect(money).toEqual([
      { kind: 'payer_receipt', amount_minor: '6000' },
      { kind: 'refund', amount_minor: '6000' },
    ])
    expect(eventTypes(await inbox.notifies())).not.toContain('payout_scheduled')
  })

  it('paid in time does not expire later', async () => {
    const inbox = receiver(mesh)
    const created = await shop.create(order({ payers: [payer(1)], urls: inbox.urls }))
    const other = receiver(mesh)
    await shop.create(order({ urls: other.urls }))
    await other.told(['payment_expired'])
    expect(detailsOf(await shop.status(created.id))['status']).toBe('paid')
    expect(eventTypes(await inbox.notifies())).not.toContain('payment_expired')
  })
})

describe('the settings of a start', () => {
  it('say how far PW-request-date may be off', async () => {
    const at = (offsetS: number) =>
      shop.call('GET', '/payments/status', {
        query: { api_key: shop.apiKey, payment_details_id: 'unknown' },
        headers: { 'PW-request-date': requestDate(new Date(Date.now() + offsetS * 1000)) },
      })
    for (const offsetS of [-50, 0, 50]) expect((await at(offsetS)).status).toBe(404)
    for (const offsetS of [-70, 70, -86_400]) {
      expectRefused(await at(offsetS), {
        status: 400,
        errorCode: 'INVALID_HEADER',
        names: 'PW-request-date',
      })
    }
  })

  it('say how many requests a key may send in a second', async () => {
    const other = merchant(mesh, 'payments_only')
    const answers = await Promise.all(Array.from({ length: 250 }, () => other.status('unknown')))
    const limited = answers.filter(({ status }) => status === 429)
    expect(answers.length - limited.length).toBeGreaterThanOrEqual(100)
    expect(limited.length).toBeGreaterThan(0)
    const [answer] = limited as [Answer]
    expectRefused(answer, { status: 429, errorCode: 'RATE_LIMIT_EXCEEDED' })
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect((await shop.status('unknown')).status).toBe(404)
    await eventually(
      () => other.status('unknown'),
      ({ status }) => expect(status).toBe(404),
    )
  })

  it('say what is charged', async () => {
    const created = await shop.create(
      order({ payers: [payer(20, { payment_channel: 'agent', payment_method: 'card' })] }),
    )
    expect(detailsOf(await shop.status(created.id))['fees']).toMatchObject({
      total: '16.00',
      card_processing: '10.00',
      platform_processing: '1.00',
      agent_processing: '2.00',
      convenience: '3.00',
    })
  })

  it('say what the fraud check stops', async () => {
    const verdict = async (mobile_number: string, more: Json = {}) => {
      const payers = [payer(0, { mobile_number })]
      const created = await shop.create(order({ fraud_check: 1, payers, ...more }))
      return detailsOf(created.answer)['fraud_check_status']
    }
    const euro = { currency: 'EUR' }
    expect(await verdict(person(33))).toBe('failed')
    expect(await verdict(person(6))).toBe('passed')
    expect(await verdict(strangersNumber(), { ...euro, amount: '5.00' })).toBe('passed')
    expect(await verdict(strangersNumber(), { ...euro, amount: '5.01' })).toBe('failed')
    const number = strangersNumber()
    const verdicts = [await verdict(number), await verdict(number), await verdict(number)]
    expect(verdicts).toEqual(['passed', 'passed', 'failed'])
  })

  it('say how often a push is tried', async () => {
    const inbox = receiver(mesh, 'fail')
    const created = await shop.create(order({ urls: { callback: inbox.urls.callback } }))
    await shop.cancel(created.id)
    await eventually(
      () =>
        mesh.rows('select state, attempts from delivery.delivery where url like $1', [
          `%${inbox.tags.callback}`,
        ]),
      (rows) => expect(rows).toEqual([{ state: 'exhausted', attempts: 2 }]),
    )
  })
})

describe('a session', { concurrent: true }, () => {
  const lookup = (nn: number) => ({ lookup_type: 'MOBILE', lookup_value: person(nn) })
  const registration = (nn: number, first_name: string, last_name: string) => ({
    mobile_number: person(nn),
    institution_name: 'Demo Wallet',
    first_name,
    last_name,
  })

  it('lives as long as SESSION_TTL_S says', async () => {
    const demo = accountClient(mesh)
    const opened = await demo.session(lookup(1))
    const session_token = tokenOf(opened)
    expect(dataOf(opened)['session']).toMatchObject({ ttl_seconds: 2 })
    const body = {
      ...registration(1, 'Kofi', 'Boateng'),
      ...callbackReceiver(mesh).asked,
      session_token,
    }
    await eventually(
      () => demo.register(body),
      ({ body: answer }) =>
        expect(answer).toMatchObject({ code: 401, errorCode: 'SESSION_EXPIRED' }),
    )
  })

  it('is opened for one value as often by minute as SESSION_LOOKUPS_PER_MIN says', async () => {
    const demo = accountClient(mesh)
    for (let count = 0; count < 5; count += 1) tokenOf(await demo.session(lookup(3)))
    const refused = await demo.session(lookup(3))
    expect(refused.body).toMatchObject({ code: 429, errorCode: 'RATE_LIMIT_EXCEEDED' })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await accountClient(mesh, 'other').session(lookup(3))).status).toBe(200)
  })

  it('leads to a question that lapses after CHALLENGE_TTL_S, which is a refusal', async () => {
    const demo = accountClient(mesh)
    const callback = callbackReceiver(mesh)
    const session_token = tokenOf(await demo.session(lookup(0)))
    const body = { ...registration(0, 'Ama', 'Mensah'), ...callback.asked, session_token }
    const asked = await demo.register(body)
    expect(asked.status, asked.text).toBe(200)
    expect(await callback.proved()).toMatchObject({ request_status: 'rejected' })
  })
})

describe('the money of a payee', () => {
  it('leaves hold after so many days', async () => {
    const inbox = receiver(mesh)
    const payees = [
      { mobile_number: '+12025550131', amount: '60.00', delay_days: 1 },
      { mobile_number: '+12025550132', amount: '40.00', delay_days: 3 },
    ]
    const created = await shop.create(order({ payers: [payer(1)], payees, urls: inbox.urls }))
    await shop.stateIs(created.id, 'paid')
    await inbox.told(['payout_scheduled', 'payout_scheduled'])
    await passTwoDays()
    const told = await inbox.told(['payout_completed'])
    const completed = told.filter(({ event_type }) => event_type === 'payout_completed')
    expect(completed).toMatchObject([
      { status: 'PAID', payee: { mobile_number: '+12025550131', currency: 'TTD' } },
    ])
  })

  /** Every new connection to the database sees its clock two days ahead; payments makes new ones. */
  async function passTwoDays(): Promise<void> {
    const client = new Client({ connectionString: mesh.databaseUrl() })
    await client.connect()
    await client.query(`alter database payweave set payweave.clock_offset = '2 days'`)
    await client.end()
    const pid = mesh.pid('payments')
    process.kill(pid, 'SIGKILL')
    await eventually(() => expect(mesh.pid('payments')).not.toBe(pid))
    await mesh.ready()
  }
})
