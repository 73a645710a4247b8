// What the settings of a start change: lives of requests, limits, fees, fraud rules, pushes.
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { type Mesh, startMesh } from '../../support/mesh.ts'
import { accountClient, callbackReceiver, dataOf, tokenOf } from '../accounts/account-client.ts'
import {
  type ApiResponse,
  type Created,
  detailsOf,
  eventTypes,
  type Json,
  type Merchant,
  merchant,
  order,
  payer,
  payerStatesOf,
  person,
  type Receiver,
  receiver,
  requestDate,
  strangersNumber,
} from '../harness.ts'
import { open } from '../payments/browser.ts'
import { expectRefused } from '../refusals/refusal.ts'

/** How long payers have. But for one, no life ends while a test is about its work: time is passed for them. */
const ttlS = { direct_pos: 2, payment_link: 24 * 3600, agent: 36 * 3600 }
const sessionTtlS = 3600
const requestsPerS = 15

let mesh: Mesh
let shop: Merchant

beforeAll(async () => {
  mesh = await startMesh({
    name: 'settings',
    settings: {
      PAYMENT_TTL_DIRECT_POS_S: String(ttlS.direct_pos),
      PAYMENT_TTL_PAYMENT_LINK_S: String(ttlS.payment_link),
      PAYMENT_TTL_AGENT_S: String(ttlS.agent),
      REQUEST_DATE_TOLERANCE_S: '60',
      RATE_LIMIT_RPS: String(requestsPerS),
      DELIVERY_SCHEDULE_S: '1',
      SESSION_TTL_S: String(sessionTtlS),
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

/** A time of GET status, which has whole seconds. */
function timeMs(answer: ApiResponse, name: 'created_time' | 'expire_time'): number {
  const timestamps = detailsOf(answer)['timestamps'] as Record<string, string>
  return Date.parse(`${timestamps[name]?.replace(' ', 'T')}Z`)
}

function lifeS(answer: ApiResponse): number {
  return (timeMs(answer, 'expire_time') - timeMs(answer, 'created_time')) / 1000
}

/** A request that was accepted, and where its pushes go. */
type Asked = { created: Created; inbox: Receiver }

async function ask(payers: Json[], more: Json = {}): Promise<Asked> {
  const inbox = receiver(mesh)
  return { created: await shop.create(order({ payers, urls: inbox.urls, ...more })), inbox }
}

/** The request had a link for its payer, and has ended by its time alone, when that was over and not before. */
async function expectExpired({ created, inbox }: Asked, wantedS: number): Promise<void> {
  expect(detailsOf(created.answer)['payers']).toMatchObject([{ status: 'Pending' }])
  const callbacks = await inbox.calledBack(1)
  const after = await shop.status(created.id)
  expect(after.body).toMatchObject({
    transaction_request: { status: 'expired' },
    payment_details: {
      status: 'Expired',
      payments_status: { paid: '0.00 TTD', remaining: '100.00 TTD' },
    },
    payers: [{ status: 'Expired' }],
  })
  expect(lifeS(after)).toBe(wantedS)
  const { transaction_request, payment_details, payers } = after.body
  expect(callbacks).toMatchObject([
    { status: 'Expired', sequence: 1, transaction_request, payment_details, payers },
  ])
  const endedMs = Date.parse(String(callbacks[0]?.['timestamp']))
  expect(endedMs).toBeGreaterThanOrEqual(timeMs(after, 'expire_time'))
  const notifies = await inbox.awaitNotifies(['payment_initiated', 'payment_expired'])
  expect(notifies.find(({ event_type }) => event_type === 'payment_expired')).toMatchObject({
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
}

describe('a request that nobody pays in time', { concurrent: true }, () => {
  it(`a request by direct_pos with qr_code expires after its ${ttlS.direct_pos} seconds`, async () => {
    const means = { payment_channel: 'direct_pos', payment_method: 'qr_code' }
    await expectExpired(await ask([payer(20, means)]), ttlS.direct_pos)
  })

  it('a request that nobody pays in time expires with the first of its payers', async () => {
    // The other one has hours.
    const { created, inbox } = await ask([
      payer(20, { amount: '50.00', payment_channel: 'direct_pos' }),
      payer(21, { amount: '50.00', payment_channel: 'agent', payment_method: 'cash' }),
    ])
    await inbox.calledBack(1)
    const after = await shop.status(created.id)
    expect(lifeS(after)).toBe(ttlS.direct_pos)
    expect(detailsOf(after)['status']).toBe('Expired')
    expect(payerStatesOf(after)).toEqual(['Expired', 'Expired'])
  })
})

describe('the settings of a start', () => {
  it('the settings of a start bound how far PW-request-date may be off', async () => {
    const at = (offsetS: number) =>
      shop.call('GET', '/payments/status', {
        query: { api_key: shop.apiKey, payment_details_id: 'unknown' },
        headers: { 'PW-request-date': requestDate(new Date(Date.now() + offsetS * 1000)) },
      })
    for (const offsetS of [-30, 0, 30]) expect((await at(offsetS)).status).toBe(404)
    for (const offsetS of [-90, 90, -86_400]) {
      expectRefused(await at(offsetS), {
        status: 400,
        errorCode: 'INVALID_HEADER',
        names: 'PW-request-date',
      })
    }
  })

  it('the settings of a start say how many requests a key may send in a second', async () => {
    const other = merchant(mesh, 'payments_only')
    const startedMs = performance.now()
    // More than may pass in fifteen seconds.
    const answers = await Promise.all(Array.from({ length: 300 }, () => other.status('unknown')))
    const tookS = (performance.now() - startedMs) / 1_000
    const limited = answers.filter(({ status }) => status === 429)
    const passed = answers.length - limited.length
    expect(passed).toBeGreaterThanOrEqual(2 * requestsPerS)
    expect(passed).toBeLessThanOrEqual(2 * requestsPerS + tookS * requestsPerS)
    expect(limited.length).toBeGreaterThan(0)
    const [answer] = limited as [ApiResponse]
    expectRefused(answer, { status: 429, errorCode: 'RATE_LIMIT_EXCEEDED' })
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect((await shop.status('unknown')).status).toBe(404)
    await eventually(
      () => other.status('unknown'),
      ({ status }) => expect(status).toBe(404),
    )
  })

  it('the settings of a start say what is charged', async () => {
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

  it('the settings of a start say what the fraud check stops', async () => {
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

  it('the settings of a start say how often a push is tried', async () => {
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

const lookup = (nn: number) => ({ lookup_type: 'MOBILE', lookup_value: person(nn) })
const registration = (nn: number, first_name: string, last_name: string) => ({
  mobile_number: person(nn),
  institution_name: 'Demo Wallet',
  first_name,
  last_name,
})

describe('a session', { concurrent: true }, () => {
  it('a session is opened for one value as often by minute as SESSION_LOOKUPS_PER_MIN says', async () => {
    const demo = accountClient(mesh)
    // At once: another one may pass twelve seconds later.
    const answers = await Promise.all(Array.from({ length: 6 }, () => demo.session(lookup(3))))
    const [refused, ...opened] = answers.toSorted((one, other) => other.status - one.status)
    expect(refused?.body).toMatchObject({ code: 429, errorCode: 'RATE_LIMIT_EXCEEDED' })
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(new Set(opened.map(tokenOf)).size).toBe(5)
    expect((await accountClient(mesh, 'other').session(lookup(3))).status).toBe(200)
  })

  it('a challenge that expires after CHALLENGE_TTL_S is a refusal', async () => {
    const demo = accountClient(mesh)
    const callback = callbackReceiver(mesh)
    const session_token = tokenOf(await demo.session(lookup(0)))
    const body = { ...registration(0, 'Ama', 'Mensah'), ...callback.asked, session_token }
    const asked = await demo.register(body)
    expect(asked.status, asked.text).toBe(200)
    expect(await callback.proved()).toMatchObject({ request_status: 'rejected' })
  })
})

describe('two days later', () => {
  const unpaid = {
    payment_link: { payment_channel: 'payment_link', payment_method: 'wallet' },
    agent: { payment_channel: 'agent', payment_method: 'cash' },
  }
  const halves = [payer(1, { amount: '60.00' }), payer(20, { amount: '40.00' })]
  const payees = [
    { mobile_number: '+12025550131', amount: '60.00', delay_days: 1 },
    { mobile_number: '+12025550132', amount: '40.00', delay_days: 3 },
  ]
  let asked: Record<keyof typeof unpaid | 'half' | 'paid', Asked>
  let registering: () => Promise<ApiResponse>
  let before: { link: ApiResponse; agent: ApiResponse; session: Json; registered: ApiResponse }

  // Every life is longer than anything that is done before the two days pass.
  beforeAll(async () => {
    const [link, agent, half, paid] = await Promise.all([
      ask([payer(20, unpaid.payment_link)]),
      ask([payer(20, unpaid.agent)]),
      ask(halves),
      ask([payer(1)], { payees }),
    ])
    asked = { payment_link: link, agent, half, paid }
    const demo = accountClient(mesh)
    const opened = await demo.session(lookup(1))
    const session_token = tokenOf(opened)
    const body = { ...registration(1, 'Kofi', 'Boateng'), ...callbackReceiver(mesh).asked }
    registering = () => demo.register({ ...body, session_token })
    await shop.stateIs(half.created.id, 'Partially_paid')
    await shop.stateIs(paid.created.id, 'paid')
    await paid.inbox.awaitNotifies(['payout_scheduled', 'payout_scheduled'])
    before = {
      link: await shop.status(link.created.id),
      agent: await shop.status(agent.created.id),
      session: dataOf(opened)['session'] as Json,
      registered: await registering(),
    }
    await passTwoDays()
  })

  it('before two days have passed, nothing has expired', () => {
    const { link, agent, session, registered } = before
    expect([link, agent].map((answer) => detailsOf(answer)['status'])).toEqual([
      'Pending',
      'Pending',
    ])
    expect(session).toMatchObject({ ttl_seconds: sessionTtlS })
    expect(registered.status, registered.text).toBe(200)
  })

  it.each(['payment_link', 'agent'] as const)(
    'two days later, a request by %s has expired after its hours',
    async (channel) => expectExpired(asked[channel], ttlS[channel]),
  )

  it('two days later, a payer is refunded when another payer let the request expire', async () => {
    const { created, inbox } = asked.half
    await inbox.awaitNotifies(['payment_completed', 'payment_expired', 'payment_refunded'])
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

  it('two days later, a request paid in time has not expired', async () => {
    const { created, inbox } = asked.paid
    await asked.payment_link.inbox.awaitNotifies(['payment_expired'])
    expect(detailsOf(await shop.status(created.id))['status']).toBe('paid')
    expect(eventTypes(await inbox.notifies())).not.toContain('payment_expired')
  })

  it('two days later, the payout with delay_days has been completed', async () => {
    const notifies = await asked.paid.inbox.awaitNotifies(['payout_completed'])
    const completed = notifies.filter(({ event_type }) => event_type === 'payout_completed')
    expect(completed).toMatchObject([
      { status: 'PAID', payee: { mobile_number: '+12025550131', currency: 'TTD' } },
    ])
  })

  it('two days later, a session that was good before has ended', async () => {
    const { body } = await registering()
    expect(body).toMatchObject({ code: 401, errorCode: 'SESSION_EXPIRED' })
  })

  /** Every new connection to the database sees its clock two days ahead; payments and accounts make new ones. */
  async function passTwoDays(): Promise<void> {
    const client = new Client({ connectionString: mesh.databaseUrl() })
    await client.connect()
    await client.query(`alter database payweave set payweave.clock_offset = '2 days'`)
    await client.end()
    const killed = ['payments', 'accounts'].map((part) => ({ part, pid: mesh.pid(part) }))
    for (const { pid } of killed) process.kill(pid, 'SIGKILL')
    const isNew = () => killed.every(({ part, pid }) => mesh.pid(part) !== pid)
    await eventually(isNew, (now) => expect(now).toBe(true), 30_000)
    await mesh.ready()
  }
})
