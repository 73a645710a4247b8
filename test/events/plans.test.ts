// Statements that have the ids of their rows go by these, however many others there are: never through all that are open, and never
// through all rows. The plans are those of empty tables, which a connection keeps while the tables grow.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { newId } from '#core/identity/id.ts'
import { type Database, type Queryable, type Sql, sql } from '#platform/db/db.ts'
import { migrationFolders, type SchemaOwner } from '#platform/db/schemas.ts'
import { recordAnswers } from '#platform/events/confirmation-store.ts'
import { listDecisions } from '#platform/events/dead-letter-store.ts'
import { confirmDirect, markFailed, markPublished } from '#platform/events/outbox-store.ts'
import { claimReports, recordReports } from '../../connectors/simulator/store/report-store.ts'
import { writeHoldsPosted } from '../../services/accounts/ledger/store/hold-store.ts'
import { listSuspenseItemsOfTransfer } from '../../services/accounts/ledger/store/project-balance-store.ts'
import { writeEnds } from '../../services/billing/store/bill-store.ts'
import { complete } from '../../services/delivery/store/complete-store.ts'
import { listEndpoints } from '../../services/delivery/store/endpoint-store.ts'
import { listMerchantDeliveries } from '../../services/delivery/store/merchant-store.ts'
import { listPayments } from '../../services/payments/store/list-store.ts'
import { findWaitingRefund } from '../../services/payments/store/operations-store.ts'
import {
  countAttempt,
  markDone,
  moveCalls,
  postponeTasks,
} from '../../services/payments/store/task-store.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
let db: Database

beforeAll(async () => {
  database = await createTestDatabase('payments', migrationFolders('payments'))
  db = database.open()
})
afterAll(() => database.drop())

const eventId = newId()
const subjectIds = [newId()]

it.each<[string, (asked: Queryable) => Promise<unknown>]>([
  ['the confirmation of leased events', (asked) => confirmDirect(asked, [eventId])],
  ['events that failed', (asked) => markFailed(asked, [{ eventId, error: '' }], 0)],
  [
    'events that were published',
    (asked) => markPublished(asked, [{ eventId, attempts: 0, ends: true }]),
  ],
  [
    'answers of a consumer',
    (asked) => recordAnswers(asked, 'delivery', [{ eventId, state: 'seen' }], []),
  ],
  ['charges that were announced', (asked) => markDone(asked, { kind: 'announce', subjectIds })],
  ['charges that were withdrawn', (asked) => markDone(asked, { kind: 'withdraw', subjectIds })],
  [
    'tasks that are put off',
    (asked) => postponeTasks(asked, { kind: 'announce', subjectIds }, 'unsent'),
  ],
  [
    'charges that move to another connector',
    (asked) => moveCalls(asked, 'announce', [], { from: null, to: 'simulator' }),
  ],
  ['charges that are announced ahead', (asked) => countAttempt(asked, subjectIds)],
])('%s', async (_, work) => {
  const plans = await plansOf(db, work)
  expect(plans.length).toBeGreaterThan(0)
  for (const plan of plans) {
    expect(plan).toMatch(/Index (Only )?Scan using (outbox|task)_pkey/)
    expect(plan).not.toMatch(/outbox_(fresh|published|pendingRows)|task_open/)
  }
})

it('a refund that waits is found by its id, decisions about an event by the event', async () => {
  const [refund] = await plansOf(db, (asked) => findWaitingRefund(asked, 'failed', newId()))
  expect(refund).toContain('Index Scan using refund_pkey on refund r')
  const before = { at: 0n, id: newId() }
  const [decisions] = await plansOf(db, (asked) => listDecisions(asked, before, 25, eventId))
  expect(decisions).toMatch(/Index Cond: \(\(event_id = \$4\) AND \(ROW\(decide_time/)
  expect(decisions).not.toContain('Sort')
})

const lease = { leaseToken: newId(), startedAt: new Date() }

it.each<[string, SchemaOwner, (asked: Database) => Promise<unknown>]>([
  [
    'completions of pushes',
    'delivery',
    (asked) =>
      complete(asked, [
        {
          claimed: {
            ...lease,
            deliveryId: newId(),
            endpointId: newId(),
            projectId: newId(),
            eventId,
            subjectId: 'payment',
            kind: 'callback',
            url: 'https://shop.example/pushes',
            body: Buffer.alloc(0),
            failures: 0,
            number: 1,
            earlierAttempts: 0,
            occurredAt: new Date(),
            round: 1,
            hostname: 'shop.example',
            traceparent: null,
          },
          end: { outcome: 'delivered', totalMs: 1 },
          verdict: { state: 'delivered' },
        },
      ]),
  ],
  [
    'holds that are posted',
    'accounts',
    (asked) =>
      writeHoldsPosted(asked, [
        {
          projectId: newId(),
          transferId: newId(),
          fingerprint: Buffer.alloc(32),
          lines: [],
          deltas: [],
        },
      ]),
  ],
  [
    'bills that end',
    'billing',
    (asked) =>
      writeEnds(asked, [
        {
          billPaymentId: newId(),
          leaseToken: newId(),
          end: { state: 'succeeded', providerReference: '' },
          receipt: undefined,
          isPosted: true,
        },
      ]),
  ],
  ['reports of the simulator', 'simulator', (asked) => claimReports(asked, ['charge'], 10, 1_000)],
  ['reports that were sent', 'simulator', (asked) => recordReports(asked, [])],
])('%s are found by their keys', async (_, service, work) => {
  const other = await createTestDatabase(service, migrationFolders(service))
  try {
    const plans = await plansOf(other.open(), work)
    expect(plans.length).toBeGreaterThan(0)
    for (const plan of plans) {
      expect(plan).not.toMatch(/Scan using \w+ on .*\n(?!\s+Index Cond)/)
    }
  } finally {
    await other.drop()
  }
})

const merchant = { projectId: newId(), merchantId: newId(), startTime: new Date(0), limit: 25 }
const anyPayment = {
  ...merchant,
  transactionId: undefined,
  mobileNumberE164: undefined,
  state: undefined,
  amount: undefined,
  before: { createTime: new Date(), paymentId: newId() },
}

it.each<[string, Partial<Parameters<typeof listPayments>[1]>, RegExp]>([
  ['payments of a merchant', {}, /payment_of_merchant/],
  ['payments of a merchant in a state', { state: 'paid' }, /payment_of_merchant/],
  ['payments of a number', { mobileNumberE164: '+12025550108' }, /payer_velocity/],
  ['payments of an amount', { amount: { minor: 1n, currency: 'USD' } }, /payment_of_amount/],
])('%s are listed by their index, from the place of a page on', async (_, filter, index) => {
  const plans = await plansOf(db, (asked) => listPayments(asked, { ...anyPayment, ...filter }))
  expectPage(plans, index, 'create_time')
})

const anyPush = {
  ...merchant,
  paymentId: undefined,
  eventType: undefined,
  state: undefined,
  before: { createdAt: new Date(), deliveryId: newId() },
}

it('money in suspense is found by its transfer, among the postings of one project', async () => {
  const other = await createTestDatabase('accounts', migrationFolders('accounts'))
  try {
    const [plan] = await plansOf(other.open(), (asked) =>
      listSuspenseItemsOfTransfer(asked, newId()),
    )
    const ofTransfer =
      /using transfer_pkey on transfer t.*\n\s+Index Cond: .*project_id.* AND .*transfer_id/g
    expect(plan?.match(ofTransfer)).toHaveLength(2)
    const ofSuspense =
      /using posting_of_suspense on posting s.*\n\s+Index Cond: .*project_id.* AND .*currency/
    expect(plan).toMatch(ofSuspense)
  } finally {
    await other.drop()
  }
})

it('the lanes of a project that fail are found by the index that holds them', async () => {
  const other = await createTestDatabase('delivery', migrationFolders('delivery'))
  try {
    const place = { origin: 'https://shop.example', kind: null }
    for (const breaker of ['open', 'half_open'] as const) {
      const [plan] = await plansOf(other.open(), (asked) =>
        listEndpoints(asked, newId(), place, 10, { breaker }),
      )
      expect(plan).toMatch(/using endpoint_not_closed on endpoint e.*\n\s+Index Cond: .*project_id/)
    }
  } finally {
    await other.drop()
  }
})

it('pushes of a merchant are listed by their index with any filter, from the place of a page on', async () => {
  const other = await createTestDatabase('delivery', migrationFolders('delivery'))
  try {
    const delivery = other.open()
    const plansWith = (filter: Partial<Parameters<typeof listMerchantDeliveries>[1]>) =>
      plansOf(delivery, (asked) => listMerchantDeliveries(asked, { ...anyPush, ...filter }))
    for (const filter of [{}, { state: 'delivered' as const }, { eventType: 'payment.paid' }]) {
      expectPage(await plansWith(filter), /delivery_of_merchant/, 'created_at')
    }
    expectPage(await plansWith({ paymentId: newId() }), /delivery_subject/, 'created_at')
  } finally {
    await other.drop()
  }
})

/** The page begins inside the index, so that the thousandth costs what the first does; no table is read from end to end. */
function expectPage([page = '', ...more]: string[], index: RegExp, time: string): void {
  expect(page).toMatch(index)
  // PostgreSQL also takes a bound of the time alone from the place.
  expect(page).toMatch(new RegExp(`Index Cond: .*${time}[^>=]*<`))
  for (const plan of [page, ...more]) expect(plan).not.toContain('Seq Scan')
}

type Asked = { statement: Sql; values: unknown[] }

/** The statements of some work, as a connection of the service plans each for all values. */
async function plansOf(
  planner: Database,
  work: (asked: Database) => Promise<unknown>,
): Promise<string[]> {
  const statements: Asked[] = []
  const note = (statement: Sql, values: unknown[]): undefined =>
    void statements.push({ statement, values })
  await work({
    ...planner,
    rows: (statement, values) => Promise.resolve((note(statement, values), [])),
    row: (statement, values) => Promise.resolve(note(statement, values)),
    run: (statement, values) => Promise.resolve((note(statement, values), 0)),
  })
  const plans: string[] = []
  for (const { statement, values } of statements) {
    const name = `planned_${statement.name}`
    const nulls = values.length === 0 ? '' : `(${values.map(() => 'null').join(', ')})`
    // An explained statement with parameters of its own is planned for their values; a prepared one is not.
    const lines = await planner.transaction(async (tx) => {
      await tx.run(sql(`prepare_${name}`, `prepare ${name} as ${statement.text}`), [])
      const explain = sql(`explain_${name}`, `explain execute ${name}${nulls}`)
      const explained = await tx.rows<{ 'QUERY PLAN': string }>(explain, [])
      await tx.run(sql(`deallocate_${name}`, `deallocate ${name}`), [])
      return explained
    })
    plans.push(lines.map((line) => line['QUERY PLAN']).join('\n'))
  }
  return plans
}
