// Changes that come together are written together: each as it would be alone, and none suffers from another.
import { fromBinary } from '@bufbuild/protobuf'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { newId } from '#core/identity/id.ts'
import {
  PaymentEventSchema,
  PaymentTransition,
} from '#gen/payweave/payments/v1/payment_event_pb.js'
import { isUniqueViolation, sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { createTestClock, type TestClock } from '#platform/testing/clock.ts'
import type { Payment } from '../../services/payments/domain/payment.ts'
import {
  cancelPayment,
  getPayment,
  refundPayment,
} from '../../services/payments/operations/payments.ts'
import {
  type AttemptReport,
  reportCharge,
  reportPayout,
} from '../../services/payments/operations/reports.ts'
import { startTasks } from '../../services/payments/workers/tasks.ts'
import { createTestDatabase, silentLog, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import {
  key,
  paidAndSent,
  payeeOf,
  payerOf,
  paymentBy,
  paymentsBy,
  processOn,
  projectId,
  type Spied,
  storedIn,
  untouched,
} from './processes.ts'

const paid: AttemptReport = { attemptId: 'a-1', outcome: 'paid', paymentMethod: undefined }

let database: TestDatabase
let testClock: TestClock
let context: Spied

beforeAll(async () => {
  database = await createTestDatabase('payments', migrationFolders('payments'))
  testClock = createTestClock()
})
afterAll(() => database.drop())
beforeEach(() => {
  context = startProcess()
})

const startProcess = () => processOn(database.open({ testClock }))
const createWith = (payers: number) => paymentBy(context, payers)
const createAll = (count: number) => paymentsBy(context, count)
const stored = (payment: Payment) => storedIn(context, payment)

describe('changes of one turn', () => {
  it('changes of one turn are written by the statements of one', async () => {
    const payments = await createAll(20)
    await Promise.all(payments.map((one) => reportCharge(context, payerOf(one), paid)))
    expect(context.statements).toEqual([
      'payment_lock_free',
      'payment_read_locked',
      'charge_report_read',
      'payment_update',
      'payer_update',
      'payee_update',
      'change_insert',
      'attempt_end',
    ])
    for (const one of payments) expect(await stored(one)).toEqual(paidAndSent)
    expect(context.published).toHaveLength(40)
    const payouts = context.calls.filter(({ kind }) => kind === 'payout')
    expect(new Set(payouts.map(({ subjectId }) => subjectId))).toEqual(
      new Set(payments.map(payeeOf)),
    )
  })

  it('changes of many kinds in one turn each come to what they would come to alone', async () => {
    const [cancelled, refunded, reported, again] = await createAll(4)
    if (!cancelled || !refunded || !reported || !again) throw new Error('nothing was made')
    await reportCharge(context, payerOf(refunded), paid)
    await reportCharge(context, payerOf(again), paid)
    context.statements = []
    const results = await Promise.all([
      cancelPayment(context, key(cancelled)).then(({ state }) => state),
      refundPayment(context, key(refunded)).then(({ state }) => state),
      reportCharge(context, payerOf(reported), paid),
      reportCharge(context, payerOf(again), paid),
      reportPayout(context, payeeOf(again), 'completed'),
    ])
    expect(results).toEqual(['Cancelled', 'Refunded', 'paid', 'paid', 'completed'])
    expect(context.statements.filter((name) => name.startsWith('payment_lock'))).toHaveLength(1)
    expect(await stored(cancelled)).toMatchObject({ state: 'Cancelled', tasks: 'withdraw' })
    expect(await stored(refunded)).toMatchObject({
      state: 'Refunded',
      moved: 'payer_receipt fee fee_returned refund payout payout_recovery',
      tasks: 'refund payout',
    })
    expect(await stored(again)).toMatchObject({ payouts: 'completed', reports: 1, events: 3 })
  })

  it('changes of one payment in one turn publish the events that they would publish one after the other', async () => {
    const [apart, together] = [await createWith(2), await createWith(2)]
    const processing = { ...paid, outcome: 'processing' as const }
    const steps = (one: Payment) => [
      () => reportCharge(context, payerOf(one), processing),
      () => reportCharge(context, payerOf(one), paid),
      () => reportCharge(context, payerOf(one, 1), paid),
      () => refundPayment(context, key(one)),
    ]
    const contents = async (run: () => Promise<unknown>) => {
      context.published.length = 0
      await run()
      return context.published.map(({ payload }) => {
        const { transition, notices, callbackSequence, settlements, payment } = fromBinary(
          PaymentEventSchema,
          payload,
        )
        return {
          transition: PaymentTransition[transition],
          notices,
          callbackSequence,
          settlements: settlements.map(({ kind, amountMinor }) => [kind, amountMinor]),
          states: [payment?.state, ...(payment?.payers.map(({ state }) => state) ?? [])],
        }
      })
    }
    const first = await contents(async () => {
      for (const step of steps(apart)) await step()
    })
    context.statements = []
    const second = await contents(() => Promise.all(steps(together).map((step) => step())))
    expect(second).toEqual(first)
    expect(first.map(({ transition }) => transition)).toEqual([
      'PAYER_PROCESSING',
      'PAYER_PAID',
      'PAYER_PAID',
      'REFUNDED',
    ])
    expect(context.statements.filter((name) => name.startsWith('payment_lock'))).toHaveLength(1)
    expect(await stored(together)).toEqual(await stored(apart))
  })

  it('the changes of one payment in one turn have different times, in their order', async () => {
    const payment = await createWith(3)
    const reports = [0, 1, 2].map((index) => reportCharge(context, payerOf(payment, index), paid))
    await Promise.all(reports)
    expect(context.statements.filter((name) => name.startsWith('payment_lock'))).toHaveLength(1)
    const times = context.published.map(({ occurredAt }) => occurredAt.getTime())
    expect(times).toHaveLength(4)
    expect(times).toEqual([...new Set(times)].toSorted((a, b) => a - b))
    expect(await getPayment(context, key(payment))).toMatchObject({
      updateTime: context.published.at(-1)?.occurredAt,
    })
  })

  it('a report that comes twice in one turn counts once, and each attempt that was paid moves money', async () => {
    const [payment] = await createAll(1)
    if (payment === undefined) throw new Error('nothing was made')
    const second = { ...paid, attemptId: 'a-2' }
    const reports = [paid, paid, second, paid, second]
    await Promise.all(reports.map((report) => reportCharge(context, payerOf(payment), report)))
    expect(await stored(payment)).toMatchObject({
      reports: 2,
      moved: 'payer_receipt duplicate_receipt fee refund payout',
    })
  })
})

/** Keeps the rows of payments locked in another process until it is let go. */
async function hold(payments: Payment[]): Promise<() => Promise<void>> {
  const released = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  const lock = sql('test_hold', 'select from payment where payment_id = any($1) for update')
  const holding = database.open().transaction(async (tx) => {
    await tx.run(lock, [payments.map(({ paymentId }) => paymentId)])
    held.resolve()
    await released.promise
  })
  await held.promise
  return () => {
    released.resolve()
    return holding
  }
}

describe('a change that fails', () => {
  it('a change that is refused changes nothing, and the others of its batch are written with it', async () => {
    const [settled, ...payments] = await createAll(5)
    if (settled === undefined) throw new Error('nothing was made')
    await reportCharge(context, payerOf(settled), paid)
    context.statements = []
    const outcomes = await Promise.allSettled([
      ...payments.map((one) => reportCharge(context, payerOf(one), paid)),
      cancelPayment(context, key(settled)),
      reportCharge(context, newId(), paid),
      cancelPayment(context, { projectId, paymentId: newId() }),
    ])
    const reasons = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [(outcome.reason as Failure).reason] : [],
    )
    expect(reasons).toEqual(['PAYMENT_NOT_CANCELLABLE', 'CHARGE_NOT_FOUND', 'PAYMENT_NOT_FOUND'])
    expect(context.statements.filter((name) => name.startsWith('payment_lock'))).toHaveLength(1)
    for (const one of payments) expect(await stored(one)).toEqual(paidAndSent)
    expect(await stored(settled)).toEqual(paidAndSent)
  })

  const poison = sql(
    'test_poison',
    `insert into settlement (settlement_id, project_id, payment_id, kind, payer_id, attempt_id,
       amount_minor, currency, create_time)
     select gen_random_uuid(), project_id, payment_id, 'payer_receipt', payer_id, 'x', 1, 'USD',
       now() from payer where payer_id = $1`,
  )

  it('a change that a table refuses is refused alone', async () => {
    const payments = await createAll(8)
    const [poisoned, ...others] = payments
    if (poisoned === undefined) throw new Error('nothing was made')
    await context.db.run(poison, [payerOf(poisoned)])
    const outcomes = await Promise.allSettled(
      payments.map((one) => reportCharge(context, payerOf(one), paid)),
    )
    const [refused, ...accepted] = outcomes
    expect(refused?.status === 'rejected' && isUniqueViolation(refused.reason)).toBe(true)
    expect(accepted.map(({ status }) => status)).toEqual(others.map(() => 'fulfilled'))
    for (const one of others) expect(await stored(one)).toEqual(paidAndSent)
    expect(await stored(poisoned)).toMatchObject({ state: 'Pending', reports: 0, events: 1 })
    // The others were written in halves of the batch.
    expect(context.statements.filter((name) => name === 'payment_lock')).toHaveLength(1)
    expect(context.statements.filter((name) => name === 'payment_lock_free')).toHaveLength(7)
  })

  it('a change whose payment another transaction holds waits alone', async () => {
    const [busy, ...others] = await createAll(6)
    if (busy === undefined) throw new Error('nothing was made')
    const letGo = await hold([busy])
    const waiting = reportCharge(context, payerOf(busy), paid)
    await Promise.all(others.map((one) => reportCharge(context, payerOf(one), paid)))
    for (const one of others) expect(await stored(one)).toEqual(paidAndSent)
    expect(await stored(busy)).toEqual(untouched)
    await letGo()
    expect(await waiting).toBe('paid')
    expect(await stored(busy)).toEqual(paidAndSent)
  })

  it('few changes wait for locks at once, and others do not wait for them', async () => {
    const busy = await createAll(20)
    const free = await createWith(1)
    const letGo = await hold(busy)
    const waiting = busy.map((one) => reportCharge(context, payerOf(one), paid))
    const locking = () => context.statements.filter((name) => name === 'payment_lock')
    await eventually(() => expect(locking()).toHaveLength(5))
    expect(await reportCharge(context, payerOf(free), paid)).toBe('paid')
    expect(locking()).toHaveLength(5)
    await letGo()
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['paid']))
  })
})

describe('a process that ends', () => {
  // The eight statements of a batch, and before its commit.
  it.each(Array.from({ length: 9 }, (_, step) => step + 1))(
    'a process that ends at step %i of a batch has written all of it or nothing, and a repeat completes it once',
    async (step) => {
      const payments = await createAll(5)
      context.dieAt = step
      const outcomes = await Promise.allSettled(
        payments.map((one) => reportCharge(context, payerOf(one), paid)),
      )
      expect(outcomes.map(({ status }) => status)).toEqual(payments.map(() => 'rejected'))
      for (const one of payments) expect(await stored(one)).toEqual(untouched)
      const after = startProcess()
      const repeats = payments.map((one) => reportCharge(after, payerOf(one), paid))
      expect(await Promise.all(repeats)).toEqual(payments.map(() => 'paid'))
      for (const one of payments) expect(await stored(one)).toEqual(paidAndSent)
    },
  )

  it('a process that ends right after a commit leaves its payouts to another', async () => {
    const payments = await createAll(3)
    await Promise.all(payments.map((one) => reportCharge(context, payerOf(one), paid)))
    const again = startProcess()
    await Promise.all(payments.map((one) => reportCharge(again, payerOf(one), paid)))
    expect(again.published).toEqual([])
    for (const one of payments) expect(await stored(one)).toEqual(paidAndSent)
    testClock.advance(16_000)
    const made: string[] = []
    const worker = startTasks({ db: again.db, log: silentLog }, (calls) => {
      made.push(...calls.map(({ kind, subjectId }) => `${kind} ${subjectId}`))
      return Promise.resolve()
    })
    await eventually(() =>
      expect(made).toEqual(expect.arrayContaining(payments.map((one) => `payout ${payeeOf(one)}`))),
    )
    await worker.close()
  })
})

it('two processes that change the same payments lock each other out, and every report counts once', async () => {
  const other = startProcess()
  const payments = await createAll(30)
  // A connector repeats a report that the database is too slow to take.
  const report = (process: Spied, payerId: string, outcome: AttemptReport): Promise<string> =>
    reportCharge(process, payerId, outcome).catch((error: unknown) => {
      if (error instanceof Failure && error.reason === 'TIMEOUT')
        return report(process, payerId, outcome)
      throw error
    })
  const attempts = (name: string, process: Spied, some: Payment[]) =>
    some.flatMap((one) => [
      report(process, payerOf(one), paid),
      report(process, payerOf(one), { ...paid, attemptId: name }),
    ])
  const states = await Promise.all([
    ...attempts('one', context, payments),
    ...attempts('two', other, payments.toReversed()),
    ...attempts('one', other, payments),
    ...attempts('two', context, payments.toReversed()),
  ])
  expect(new Set(states)).toEqual(new Set(['paid']))
  for (const one of payments) {
    expect(await stored(one)).toMatchObject({
      state: 'paid',
      reports: 3,
      moved: 'payer_receipt duplicate_receipt duplicate_receipt fee refund refund payout',
    })
  }
})
