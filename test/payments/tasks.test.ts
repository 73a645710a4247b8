// Tests that calls reach the back end although a part of it refuses or hangs.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { ChargeOutcome, TransferOutcome } from '#gen/payweave/payments/v1/charge_report_pb.js'
import { type Database, sql } from '#platform/db/db.ts'
import { systemTimers } from '#platform/process/loop.ts'
import type { BackendCall } from '../../services/payments/domain/backend-call.ts'
import { routingOf } from '../../services/payments/domain/routing.ts'
import type { Announcement, Backend } from '../../services/payments/ports/backend.ts'
import { connectorsOf } from '../../services/payments/ports/backend.ts'
import { oldestUnreportedRefundS } from '../../services/payments/store/refund-store.ts'
import { taskLeasedUntil } from '../../services/payments/store/task-store.ts'
import { startCallMaker, startDirectCalls } from '../../services/payments/workers/calls.ts'
import { silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { fixedKeys } from '../support/keys.ts'
import { at, type Harness, payer, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

it('a charge that the back end refuses does not keep the others of its call from being announced', async () => {
  const { state, received } = harness.backend
  const refused = '+12025550177'
  state.refuses = ({ mobileNumber }) => mobileNumber === refused
  const payers = [payer(5_000n, { mobileNumberE164: refused }), payer(5_000n)]
  const made = await harness.create({ payers })
  await eventually(() => received.charges.has(at(made.payers, 1).payerId))
  expect(received.charges.has(at(made.payers).payerId)).toBe(false)
  state.refuses = () => false
  harness.testClock.advance(60_000)
  await eventually(() => received.charges.has(at(made.payers).payerId))
})

it('charges are announced while payouts hang', async () => {
  const { state, received } = harness.backend
  const hanging = Promise.withResolvers<void>()
  state.paysOutAfter = hanging.promise
  const paid = await harness.create()
  await harness.report(at(paid.payers).payerId, ChargeOutcome.PAID)
  const payeeId = at((await harness.get(paid.paymentId)).payees).payeeId
  await eventually(() => expect(received.payoutCalls).toBeGreaterThan(0))
  const fresh = await harness.create()
  await eventually(() => received.charges.has(at(fresh.payers).payerId))
  expect(received.payouts.has(payeeId)).toBe(false)
  hanging.resolve()
  await eventually(() => received.payouts.has(payeeId))
})

const writeTask = sql(
  'test_task_leased',
  `insert into task (subject_id, kind, project_id, payment_id, create_time, next_time, attempts)
   values ($1, 'announce', $2, $2, clock_now(), ${taskLeasedUntil}, 1)`,
)
const findTask = sql('test_task', 'select attempts from task where subject_id = $1')

const doneTask = sql(
  'test_task_done',
  "select kind from task where subject_id = $1 and kind = 'withdraw' and done_time is not null",
)

/** Direct calls whose back end does not respond until `letGo` is called, and then fails; payouts hang for ever. */
function hangingCharges(db: Database) {
  const hanging = Promise.withResolvers<void>()
  const called = Promise.withResolvers<void>()
  const announced: string[] = []
  const clock = { shiftMs: 0 }
  const announce = (charges: Announcement[]) => {
    announced.push(...charges.map(({ payerId }) => payerId))
    called.resolve()
    return hanging.promise
  }
  const withdraw = () => Promise.resolve()
  const payOut = () => new Promise<void>(() => undefined)
  const backend = { announce, withdraw, payOut } as unknown as Backend
  const connectors = connectorsOf(new Map([['simulator', backend]]), 'simulator')
  const routing = () => routingOf([], 'simulator')
  const metrics = { fellBack: () => undefined }
  const failRefund = () => Promise.reject(new Error('no refund was made'))
  const linkKeys = fixedKeys()
  const options = { db, log: silentLog, connectors, routing, linkKeys, metrics, failRefund }
  const timers = { ...systemTimers, nowMs: () => systemTimers.nowMs() + clock.shiftMs }
  const charges = startDirectCalls({ ...options, timers }, startCallMaker(options).make)
  return {
    called: called.promise,
    announced,
    clock,
    payOut(count: number) {
      const calls = Array.from({ length: count }, () => ({
        kind: 'payout' as const,
        subjectId: randomUUID(),
        connector: null,
        attempts: 1,
        unsentAttempts: 0,
        projectId: randomUUID(),
        amountMinor: 1n,
        currency: 'USD',
        mobileNumberE164: '+12025550108',
      }))
      charges.call(calls)
    },
    announce(payerId: string) {
      const charge = { amountMinor: 1n, paymentChannel: 'payment_link' }
      const call = { kind: 'announce', subjectId: payerId, connector: null, attempts: 1, charge }
      charges.call([call as unknown as BackendCall])
    },
    close: () => charges.close(),
    letGo: () => hanging.reject(new Error('nobody there')),
  }
}

it('charges that wait when their process stops are left to others, and do not hold it up', async () => {
  const { db } = harness
  const charges = hangingCharges(db)
  const write = async () => {
    const payerId = randomUUID()
    await db.run(writeTask, [payerId, randomUUID()])
    charges.announce(payerId)
    return payerId
  }
  await write()
  await charges.called
  const waiting = await write()
  expect(await db.row(findTask, [waiting])).toBeDefined()
  const closed = charges.close()
  charges.letGo()
  await closed
  // Long before the lease of the task expires.
  await eventually(async () =>
    expect(await db.row(findTask, [waiting])).not.toEqual({ attempts: 1 }),
  )
})

it('calls that wait when their process stops are released before those in flight end, and later ones at once', async () => {
  const released: unknown[] = []
  const db: Database = {
    ...harness.db,
    run: (statement, [ids]) => {
      if (statement.name === 'task_mark_later') released.push(ids)
      return Promise.resolve(1)
    },
  }
  const charges = hangingCharges(db)
  const [first, waiting, late] = [randomUUID(), randomUUID(), randomUUID()]
  charges.announce(first)
  await charges.called
  charges.announce(waiting)
  const closed = charges.close()
  charges.announce(late)
  await eventually(() => expect(released).toEqual([[waiting], [late]]))
  charges.letGo()
  await closed
  expect(charges.announced).toEqual([first])
})

it('a charge that waited until its lease is nearly over is left to the worker', async () => {
  const charges = hangingCharges(harness.db)
  const [first, stale, fresh] = [randomUUID(), randomUUID(), randomUUID()]
  charges.announce(first)
  await charges.called
  charges.announce(stale)
  charges.clock.shiftMs = 5_001
  charges.announce(fresh)
  charges.letGo()
  await eventually(() => expect(charges.announced).toContain(fresh))
  expect(charges.announced).toEqual([first, fresh])
  await charges.close()
})

it('a charge is announced although more payouts hang than may wait', async () => {
  const charges = hangingCharges(harness.db)
  charges.payOut(5_100)
  const payerId = randomUUID()
  charges.announce(payerId)
  await eventually(() => expect(charges.announced).toEqual([payerId]))
})

it('the task of an announced charge is deleted, that of a withdrawn one is kept', async () => {
  const made = await harness.create()
  const { payerId } = at(made.payers)
  await eventually(async () => expect(await harness.db.row(findTask, [payerId])).toBeUndefined())
  expect(harness.backend.received.charges.has(payerId)).toBe(true)
  await harness.cancel(made.paymentId)
  await eventually(async () => expect(await harness.db.row(doneTask, [payerId])).toBeDefined())
})

it('charges that wait do not make a stop fail whose database is gone', async () => {
  const gone: Database = {
    ...harness.db,
    run: () => Promise.reject(new Failure('SERVICE_UNAVAILABLE', 'the database is gone')),
  }
  const charges = hangingCharges(gone)
  charges.announce(randomUUID())
  await charges.called
  charges.announce(randomUUID())
  const closed = charges.close()
  charges.letGo()
  await expect(closed).resolves.toBeUndefined()
})

it('a refund waits for the report of the back end until its outcome is there', async () => {
  const made = await harness.create()
  const { payerId } = at(made.payers)
  await harness.report(payerId, ChargeOutcome.PAID)
  expect(await oldestUnreportedRefundS(harness.db)).toBe(0)
  await harness.refund(made.paymentId)
  harness.testClock.advance(3_600_000)
  expect(await oldestUnreportedRefundS(harness.db)).toBeGreaterThanOrEqual(3_600)
  const { refundId } = await eventually(() => harness.refundsOf(payerId)[0] ?? false)
  await harness.reports.reportRefund({ refundId, outcome: TransferOutcome.COMPLETED })
  expect(await oldestUnreportedRefundS(harness.db)).toBe(0)
})
