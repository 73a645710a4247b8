// Tests routes on a real database: two connectors, changes, fallback, and reports of the wrong connector.
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { Code } from '@connectrpc/connect'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { AttemptOutcome } from '#gen/payweave/backend/v1/charges_pb.js'
import { ChargeOutcome, TransferOutcome } from '#gen/payweave/payments/v1/charge_report_pb.js'
import { PaymentChannel, PaymentMethod } from '#gen/payweave/payments/v1/payments_pb.js'
import { type RouteKeySchema, RouteKind } from '#gen/payweave/payments/v1/routes_pb.js'
import { type Database, sql } from '#platform/db/db.ts'
import { openRouteTable } from '../../services/payments/workers/route-table.ts'
import { silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { absent, second } from './connectors.ts'
import { at, type Harness, payer, refusal, startHarness } from './harness.ts'
import { as } from './person.ts'

type Key = MessageInitShape<typeof RouteKeySchema>

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness?.stop())
afterEach(async () => {
  harness.secondBackend.state.lacks.clear()
  const { routes } = await as('operator', () => harness.routes.listRoutes({}))
  for (const { key } of routes) if (key !== undefined) await remove(key)
})

const charges = RouteKind.CHARGE
const put = (key: Key, connector: string, fallbackConnector = '') =>
  as('operator', () => harness.routes.putRoute({ key, connector, fallbackConnector }))
const remove = (key: Key) => as('operator', () => harness.routes.deleteRoute({ key }))
const listed = () => as('support', () => harness.routes.listRoutes({}))

const clearTasks = sql(
  'test_lease_over',
  'update task set next_time = clock_now() where done_time is null',
)
const longTried = sql(
  'test_long_tried',
  `update task set attempts = attempts + 20, unsent_attempts = unsent_attempts + 20, next_time = clock_now()
   where subject_id = $1`,
)
const pauseOf = sql(
  'test_pause',
  `select extract(epoch from next_time - clock_now())::float8 as "pauseS", attempts - unsent_attempts as unclear
   from task where subject_id = $1`,
)
const connectors = sql(
  'test_connectors',
  `select r.connector as payer, e.connector as payee from payer r join payee e using (payment_id)
   where r.payment_id = $1`,
)
const connectorsOf = (paymentId: string) =>
  harness.db.row<{ payer: string | null; payee: string | null }>(connectors, [paymentId])

describe('the routes', () => {
  it('an operator makes, replaces and removes a route, and each change is audited', async () => {
    const key = { kind: charges, projectId: harness.projectId.toUpperCase(), currency: 'USD' }
    await put(key, second, 'simulator')
    await put(key, second)
    await put({ kind: charges }, 'simulator', second)
    const { routes, connectors: known, defaultConnector } = await listed()
    expect(routes).toMatchObject([
      { key: { ...key, projectId: harness.projectId }, connector: second, fallbackConnector: '' },
      { key: { kind: charges, projectId: '' }, connector: 'simulator', fallbackConnector: second },
    ])
    expect(routes[0]?.changedBy).toBe('console:operator@example.com')
    expect([known, defaultConnector]).toEqual([['simulator', second, absent], 'simulator'])
    await remove(key)
    expect((await listed()).routes).toHaveLength(1)
    const { changes } = await as('support', () => harness.routes.listRouteChanges({}))
    expect(changes.slice(0, 4)).toMatchObject([
      { connector: '', caller: 'console:operator@example.com' },
      { connector: 'simulator', fallbackConnector: second },
      { connector: second, fallbackConnector: '' },
      { connector: second, fallbackConnector: 'simulator' },
    ])
    expect(changes[0]?.requestId).not.toBe('')
  })

  it('a route that cannot apply is refused and changes nothing', async () => {
    expect(await refusal(put({ kind: charges }, 'connector-unknown'))).toBe(
      'INVALID_PARAMETER connector',
    )
    expect(await refusal(put({ kind: charges }, second, second))).toBe(
      'INVALID_PARAMETER fallback_connector',
    )
    const payout = { kind: RouteKind.PAYOUT, channel: PaymentChannel.AGENT }
    expect(await refusal(put(payout, second))).toBe('INVALID_PARAMETER key.channel')
    expect(await refusal(remove({ kind: charges, currency: 'EUR' }))).toBe('ROUTE_NOT_FOUND')
    expect((await listed()).routes).toEqual([])
  })

  it('support and finance are refused when they change or delete a route', async () => {
    const key = { kind: charges }
    const asked = as('support', () => harness.routes.putRoute({ key, connector: second }))
    const removed = as('finance', () => harness.routes.deleteRoute({ key }))
    for (const refused of [asked, removed]) {
      await expect(refused).rejects.toMatchObject({ cause: { code: Code.PermissionDenied } })
    }
    expect((await listed()).routes).toEqual([])
  })

  it('changes at the same time are all made', async () => {
    const currencies = ['USD', 'EUR', 'GBP', 'TTD', 'JPY']
    await Promise.all(currencies.map((currency) => put({ kind: charges, currency }, second)))
    const { routes } = await listed()
    expect(routes.map(({ key }) => key?.currency)).toEqual(currencies.toSorted())
  })

  it('a change in one replica counts in another when that looks next, twice a second', async () => {
    const looks = { begun: 0 }
    const rows: Database['rows'] = (statement, values) => {
      looks.begun += 1
      return harness.db.rows(statement, values)
    }
    const replica = await openRouteTable({
      db: { ...harness.db, rows },
      log: silentLog,
      connectors: { names: ['simulator', second], defaultName: 'simulator' },
    })
    const subject = {
      kind: 'charge',
      projectId: harness.projectId,
      currency: 'USD',
      channel: 'agent',
      method: 'cash',
    } as const
    const chosen = () => replica.routing().choose(subject).connector
    expect(chosen()).toBe('simulator')
    await put({ kind: charges, currency: 'USD' }, second)
    const before = looks.begun
    await eventually(() => expect(chosen()).toBe(second))
    expect(looks.begun - before).toBeLessThanOrEqual(1)
    await remove({ kind: charges, currency: 'USD' })
    await replica.reload()
    expect(chosen()).toBe('simulator')
    await replica.close()
  })
})

it('a process waits for its routes until the database can be reached', async () => {
  const reads = { failed: 0 }
  const rows: Database['rows'] = (statement, values) => {
    if (reads.failed === 2) return harness.db.rows(statement, values)
    reads.failed += 1
    return Promise.reject(new Failure('SERVICE_UNAVAILABLE', 'the database cannot be reached'))
  }
  const table = await openRouteTable({
    db: { ...harness.db, rows },
    log: silentLog,
    connectors: { names: ['simulator'], defaultName: 'simulator' },
  })
  expect([reads.failed, table.routing().defaultConnector]).toEqual([2, 'simulator'])
  await table.close()
})

describe('charges', () => {
  it('two currencies go to different connectors, and each reports on its own', async () => {
    await put({ kind: charges, currency: 'EUR' }, second)
    const [dollars, euros] = [await harness.create(), await harness.create({ currency: 'EUR' })]
    const [dollar, euro] = [at(dollars.payers).payerId, at(euros.payers).payerId]
    const { backend, secondBackend } = harness
    await eventually(() => backend.received.charges.has(dollar))
    await eventually(() => secondBackend.received.charges.has(euro))
    expect(backend.received.charges.has(euro)).toBe(false)
    expect(secondBackend.received.charges.has(dollar)).toBe(false)
    const outcome = ChargeOutcome.PAID
    const report = (reports: Harness['reports'], chargeId: string) =>
      reports.reportCharge({ chargeId, attemptId: randomUUID(), outcome })
    expect(await refusal(report(harness.reports, euro))).toBe('CHARGE_NOT_FOUND')
    expect(await refusal(report(harness.secondReports, dollar))).toBe('CHARGE_NOT_FOUND')
    await report(harness.reports, dollar)
    await report(harness.secondReports, euro)
    expect(await harness.stateOf(euros.paymentId)).toEqual(['PAID', 'PAID'])
    expect(await harness.stateOf(dollars.paymentId)).toEqual(['PAID', 'PAID'])
  })

  it('payers of one request go by channel and method, and each attempt to the connector of its charge', async () => {
    await put({ kind: charges, method: PaymentMethod.CARD }, second)
    const card = payer(5_000n, { paymentMethod: PaymentMethod.CARD })
    const made = await harness.create({ payers: [payer(5_000n), card] })
    const [wallet, byCard] = [at(made.payers), at(made.payers, 1)]
    await eventually(() => harness.secondBackend.received.charges.has(byCard.payerId))
    await eventually(() => harness.backend.received.charges.has(wallet.payerId))
    harness.secondBackend.state.wallet = () => AttemptOutcome.PROCESSING
    const { linkToken } = byCard
    await harness.checkouts.payWithWallet({ linkToken, pin: '123456' })
    const attempts = () => [...harness.secondBackend.received.attempts.keys()]
    expect(attempts()).toHaveLength(1)
    expect(harness.backend.received.attempts.size).toBe(0)
    // The enquiry, although the route is gone.
    await remove({ kind: charges, method: PaymentMethod.CARD })
    for (const id of attempts())
      harness.secondBackend.received.attempts.set(id, AttemptOutcome.PAID)
    harness.testClock.advance(10_000)
    await eventually(async () => expect((await harness.stateOf(made.paymentId))[2]).toBe('PAID'))
    expect(harness.backend.received.enquiries).toBe(0)
  })

  it('a refund goes to the connector that has the charge after the route changed', async () => {
    await put({ kind: charges }, second)
    const made = await harness.create()
    const { payerId: chargeId } = at(made.payers)
    const outcome = ChargeOutcome.PAID
    await harness.secondReports.reportCharge({ chargeId, attemptId: randomUUID(), outcome })
    await put({ kind: charges }, 'simulator')
    await harness.refund(made.paymentId)
    const { refundId } = await eventually(
      () =>
        [...harness.secondBackend.received.refunds.values()].find(
          (one) => one.chargeId === chargeId,
        ) ?? false,
    )
    expect(harness.refundsOf(chargeId)).toEqual([])
    const completed = { refundId, outcome: TransferOutcome.COMPLETED }
    expect(await refusal(harness.reports.reportRefund(completed))).toBe('CHARGE_NOT_FOUND')
    await harness.secondReports.reportRefund(completed)
  })

  it('a cancelled charge is withdrawn where it was announced', async () => {
    await put({ kind: charges }, second)
    const made = await harness.create()
    const { payerId } = at(made.payers)
    await eventually(() => harness.secondBackend.received.charges.has(payerId))
    await remove({ kind: charges })
    await harness.cancel(made.paymentId)
    await eventually(() => harness.secondBackend.received.withdrawals.has(payerId))
    expect(harness.backend.received.withdrawals.has(payerId)).toBe(false)
  })
})

describe('payouts', () => {
  const payouts = RouteKind.PAYOUT

  it('a payout goes by its own route, and only its connector reports on it', async () => {
    await put({ kind: payouts, currency: 'USD' }, second)
    const made = await harness.create()
    await harness.report(at(made.payers).payerId, ChargeOutcome.PAID)
    const { payeeId: payoutId } = at(made.payees)
    await eventually(() => harness.secondBackend.received.payouts.has(payoutId))
    expect(harness.backend.received.payouts.has(payoutId)).toBe(false)
    expect(await connectorsOf(made.paymentId)).toEqual({ payer: 'simulator', payee: second })
    await remove({ kind: payouts, currency: 'USD' })
    const completed = { payoutId, outcome: TransferOutcome.COMPLETED }
    expect(await refusal(harness.reports.reportPayout(completed))).toBe('CHARGE_NOT_FOUND')
    await harness.secondReports.reportPayout(completed)
  })

  it('a payout whose connector nobody can reach goes to the fallback once', async () => {
    await put({ kind: payouts }, absent, second)
    const before = await fallbacks('payout', 'USD')
    const made = await harness.create()
    await harness.report(at(made.payers).payerId, ChargeOutcome.PAID)
    const { payeeId } = at(made.payees)
    await eventually(() => harness.secondBackend.received.payouts.has(payeeId))
    expect(await connectorsOf(made.paymentId)).toMatchObject({ payee: second })
    expect(harness.backend.received.payouts.has(payeeId)).toBe(false)
    expect(await fallbacks('payout', 'USD')).toBe(before + 1)
  })
})

it('a payout whose connector makes none is tried four times an hour, listed, and sent where the routes lead by then', async () => {
  const { backend, secondBackend } = harness
  secondBackend.state.lacks.add('payouts')
  await put({ kind: RouteKind.PAYOUT }, second)
  const made = await harness.create()
  await harness.report(at(made.payers).payerId, ChargeOutcome.PAID)
  const { payeeId } = at(made.payees)
  await eventually(() => expect(secondBackend.received.payoutCalls).toBeGreaterThan(0))
  await harness.db.run(longTried, [payeeId])
  await eventually(async () => {
    const task = await harness.db.row<{ pauseS: number; unclear: number }>(pauseOf, [payeeId])
    expect(task?.pauseS).toBeGreaterThan(600)
    expect(task?.unclear).toBe(0)
  })
  const { calls } = await as('support', () => harness.operations.listFailingCalls({}))
  expect(calls.map(({ subjectId }) => subjectId)).toContain(payeeId)
  await put({ kind: RouteKind.PAYOUT }, 'simulator')
  await harness.db.run(clearTasks, [])
  await eventually(() => backend.received.payouts.has(payeeId))
  expect(await connectorsOf(made.paymentId)).toMatchObject({ payee: 'simulator' })
})

describe('the fallback', () => {
  it('a charge whose connector nobody can reach is announced to the fallback, which then has it', async () => {
    await put({ kind: charges }, absent, second)
    const before = await fallbacks('charge', 'EUR')
    const made = await harness.create({ currency: 'EUR' })
    const { payerId } = at(made.payers)
    await eventually(() => harness.secondBackend.received.charges.has(payerId))
    expect(await connectorsOf(made.paymentId)).toMatchObject({ payer: second })
    const report = { chargeId: payerId, attemptId: randomUUID(), outcome: ChargeOutcome.PAID }
    await harness.secondReports.reportCharge(report)
    expect(await harness.stateOf(made.paymentId)).toEqual(['PAID', 'PAID'])
    expect(await fallbacks('charge', 'EUR')).toBe(before + 1)
  })

  it('a charge that nobody took is announced where the routes lead by then', async () => {
    await put({ kind: charges }, absent)
    const made = await harness.create()
    const { payerId } = at(made.payers)
    await eventually(async () => expect(await tries(payerId)).toMatchObject({ unsent: 1 }))
    await put({ kind: charges }, second)
    await harness.db.run(clearTasks, [])
    await eventually(() => harness.secondBackend.received.charges.has(payerId))
  })

  it.each([
    ['did not answer in time', true],
    ['answered that it is down', false],
  ])('a charge whose connector %s stays there', async (_, isSilent) => {
    const { backend, secondBackend } = harness
    await put({ kind: charges }, 'simulator', second)
    const answering = Promise.withResolvers<void>()
    if (isSilent) {
      harness.waitForCharges(300)
      backend.state.announcesAfter = answering.promise
    } else backend.state.isDown = true
    const made = await harness.create()
    const { payerId } = at(made.payers)
    await eventually(async () => {
      await harness.db.run(clearTasks, [])
      expect((await tries(payerId))?.attempts).toBeGreaterThan(2)
    })
    expect(secondBackend.received.charges.has(payerId)).toBe(false)
    expect(await tries(payerId)).toMatchObject({ unsent: 0 })
    answering.resolve()
    backend.state.isDown = false
    harness.waitForCharges(10_000)
    await harness.db.run(clearTasks, [])
    await eventually(() => backend.received.charges.has(payerId))
    expect(await connectorsOf(made.paymentId)).toMatchObject({ payer: 'simulator' })
  })

  it('a charge that may have reached its connector stays there when that cannot be reached later', async () => {
    await put({ kind: charges }, absent)
    const made = await harness.create()
    const { payerId } = at(made.payers)
    await eventually(async () => expect(await tries(payerId)).toMatchObject({ unsent: 1 }))
    // A process that claims the task and ends before it notes what its call came to.
    await harness.db.run(claimedElsewhere, [payerId])
    await put({ kind: charges }, absent, second)
    await eventually(async () => {
      await harness.db.run(clearTasks, [])
      expect((await tries(payerId))?.attempts).toBeGreaterThan(4)
    })
    expect(harness.secondBackend.received.charges.has(payerId)).toBe(false)
    expect(await connectorsOf(made.paymentId)).toMatchObject({ payer: absent })
  })
})

it('rows from before routes are the default connector’s', async () => {
  await put({ kind: charges }, second)
  await put({ kind: RouteKind.PAYOUT }, second)
  const made = await harness.create()
  const { payerId } = at(made.payers)
  await eventually(() => harness.secondBackend.received.charges.has(payerId))
  await harness.db.run(fromBefore, [payerId])
  const attemptId = randomUUID()
  const report = { chargeId: payerId, attemptId, outcome: ChargeOutcome.PAID }
  expect(await refusal(harness.secondReports.reportCharge(report))).toBe('CHARGE_NOT_FOUND')
  await harness.reports.reportCharge(report)
  await harness.refund(made.paymentId)
  await eventually(() => harness.refundsOf(payerId).length === 1)
})

/** Calls that went from the connector that nobody can reach to the second one, as the metric has them. */
async function fallbacks(kind: 'charge' | 'payout', currency: string): Promise<number> {
  const metric = harness.metrics.getSingleMetric('payweave_payments_fallbacks_total')
  const { values = [] } = (await metric?.get()) ?? {}
  const labels = { kind, connector: absent, fallback: second, currency }
  return values.find((one) => isDeepStrictEqual(one.labels, labels))?.value ?? 0
}

const fromBefore = sql('test_from_before', 'update payer set connector = null where payer_id = $1')
const claimedElsewhere = sql(
  'test_claimed_elsewhere',
  'update task set attempts = attempts + 1 where subject_id = $1',
)
const triesOf = sql(
  'test_tries',
  'select attempts, unsent_attempts as unsent from task where subject_id = $1',
)
const tries = (payerId: string) =>
  harness.db.row<{ attempts: number; unsent: number }>(triesOf, [payerId])
