// Payments that come together are stored together: all rows of each, and none suffers from another.
import { Registry } from 'prom-client'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { newId } from '#core/identity/id.ts'
import { type Database, isCheckViolation, sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { creationEvent } from '../../services/payments/api/events.ts'
import { draftPayment, type NewPayment } from '../../services/payments/domain/new-payment.ts'
import { routingOf } from '../../services/payments/domain/routing.ts'
import { paymentMetrics } from '../../services/payments/metrics.ts'
import { batchingChanger } from '../../services/payments/operations/change.ts'
import {
  batchingReader,
  batchingStore,
  checkedStore,
  createPayment,
  type FindPayment,
  getPayment,
  type PaymentContext,
  type StorePayment,
} from '../../services/payments/operations/payments.ts'
import type { NewRows } from '../../services/payments/store/create-store.ts'
import { createTestDatabase, silentLog, type TestDatabase } from '../support/database.ts'
import { fixedKeys } from '../support/keys.ts'
import { settings } from './harness.ts'

const projectId = newId()
const merchantId = newId()
const merchant = { merchantId, businessName: 'Demo Store', mobileNumber: '+12025550199' }
const linkKeys = fixedKeys()
const routing = routingOf([], 'simulator')
const { keyId: linkKeyId } = linkKeys().current
const quoted = `O'Neil "sells" \\ %s $1 {} 😀`

let database: TestDatabase
let db: Database
let statements: string[]
let store: StorePayment
let find: FindPayment
let payments: PaymentContext

beforeAll(async () => {
  database = await createTestDatabase('payments', migrationFolders('payments'))
  const bare = database.open()
  db = {
    ...bare,
    row: (statement, values) => {
      statements.push(statement.name)
      return bare.row(statement, values)
    },
    rows: (statement, values) => {
      statements.push(statement.name)
      return bare.rows(statement, values)
    },
  }
  payments = {
    db,
    storePayment: (rows) => store(rows),
    storeChecked: checkedStore(db),
    findPayment: (key) => find(key),
    changeInBatch: batchingChanger(db),
    log: silentLog,
    linkKeys,
    settings,
    findMerchant: () => Promise.resolve(merchant),
    metrics: paymentMetrics(new Registry(), {
      backlog: () => Promise.resolve([]),
      oldestUnreportedRefundS: () => Promise.resolve(0),
    }),
    routing: () => routing,
    publish: () => undefined,
    callBackend: () => undefined,
  }
})
beforeEach(() => {
  statements = []
  store = batchingStore(db)
  find = batchingReader(db)
})
afterAll(() => database.drop())

function request(): NewPayment {
  const amountMinor = 6_000n
  const mobileNumber = '+12025550108'
  const person = { mobileNumber, mobileNumberE164: mobileNumber }
  return {
    projectId,
    merchantId,
    transactionId: newId(),
    fingerprint: Buffer.alloc(32, 7),
    amountMinor,
    currency: 'USD',
    description: quoted,
    payers: [
      {
        ...person,
        firstName: quoted,
        lastName: 'Boateng',
        email: '',
        paymentChannel: 'payment_link',
        paymentMethod: 'wallet',
        amountMinor,
      },
    ],
    payees: [],
    fraudCheck: false,
    feeTerms: { paysFees: false, payerCoversPercent: 100 },
    urls: { success: '', error: '', notify: '', callback: 'https://shop.example.com/hook' },
  }
}

function rowsOf(asked: NewPayment, amountMinor = asked.amountMinor): NewRows {
  const draft = { ...draftPayment(asked, merchant, { ...settings, linkKeyId }), amountMinor }
  const notices = [{ kind: 'payment_initiated' as const, index: 0 }]
  const event = creationEvent(draft, { kind: 'CREATED', notices, callbackSequence: 0 })
  return { draft, event, tokenHashes: [Buffer.from(draft.paymentId.repeat(2).slice(0, 32))] }
}

const countRows = sql(
  'test_group_rows',
  `select (select count(*)::integer from payment where payment_id = any($1)) as payments,
     (select count(*)::integer from payer where payment_id = any($1)) as payers,
     (select count(*)::integer from payee where payment_id = any($1)) as payees,
     (select count(*)::integer from task where payment_id = any($1)) as tasks,
     (select count(distinct payload)::integer from outbox) as events`,
)

it('forty payments that are created at once have all their rows and take a few statements', async () => {
  const made = await Promise.all(
    Array.from({ length: 40 }, () => createPayment(payments, request())),
  )
  const paymentIds = new Set(made.map(({ payment }) => payment.paymentId))
  expect(paymentIds.size).toBe(40)
  expect(made.every(({ replayed }) => !replayed)).toBe(true)
  expect(statements).toEqual(['payment_create_group', 'payment_create_group'])
  expect(await db.row(countRows, [[...paymentIds]])).toEqual({
    payments: 40,
    payers: 40,
    payees: 40,
    tasks: 40,
    events: 40,
  })
})

it('a payment of a batch is stored as it would be alone', async () => {
  const alone = await createPayment(payments, request())
  const others = await Promise.all(
    Array.from({ length: 8 }, () => createPayment(payments, request())),
  )
  const batched = others.at(-1)
  if (batched === undefined) throw new Error('nothing was made')
  expect(statements).toEqual(['payment_create_one', 'payment_create_group'])
  const read = async ({ payment }: typeof alone) => {
    const { paymentId } = payment
    const found = await getPayment(payments, { projectId, merchantId, paymentId })
    expect({ ...found, fingerprint: undefined }).toEqual({ ...payment, fingerprint: undefined })
    return JSON.stringify(found, (key, value: unknown) => {
      if (/Id$|Time$|^linkToken/.test(key)) return typeof value
      return typeof value === 'bigint' ? `${value}` : value
    })
  }
  expect(await read(batched)).toBe(await read(alone))
})

it('a payment that the table refuses is refused alone', async () => {
  const good = Array.from({ length: 9 }, () => rowsOf(request()))
  const bad = rowsOf(request(), -1n)
  const outcomes = await Promise.allSettled(
    [...good, bad, rowsOf(request())].map((rows) => store(rows)),
  )
  expect(statements).toContain('payment_create_group')
  const refused = outcomes.flatMap((outcome) =>
    outcome.status === 'rejected' ? [outcome.reason as unknown] : [],
  )
  expect(refused).toHaveLength(1)
  expect(isCheckViolation(refused[0], 'payment_sound')).toBe(true)
  expect(
    outcomes.filter((outcome) => outcome.status === 'fulfilled' && outcome.value),
  ).toHaveLength(10)
})

it('a payment that cannot be sent in a batch is refused alone', async () => {
  const bad = rowsOf({ ...request(), merchantId: 'nobody' })
  const outcomes = await Promise.allSettled(
    [rowsOf(request()), bad, rowsOf(request())].map((rows) => store(rows)),
  )
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})

it("many concurrent requests with one merchant's id create one payment", async () => {
  const asked = request()
  const made = await Promise.all(Array.from({ length: 20 }, () => createPayment(payments, asked)))
  expect(new Set(made.map(({ payment }) => payment.paymentId)).size).toBe(1)
  expect(made.filter(({ replayed }) => !replayed)).toHaveLength(1)
})

it('batches with the same ids in another order cause no deadlock', async () => {
  const asked = Array.from({ length: 12 }, () => request())
  const all = [...asked, ...asked.toReversed(), ...asked, ...asked.toReversed()]
  const made = await Promise.all(all.map((one) => createPayment(payments, one)))
  expect(new Set(made.map(({ payment }) => payment.paymentId)).size).toBe(12)
  expect(made.filter(({ replayed }) => !replayed)).toHaveLength(12)
})

it('reads that come at once each get their own payment, or none, in a few statements', async () => {
  const made = await Promise.all(
    Array.from({ length: 10 }, () => createPayment(payments, request())),
  )
  statements = []
  const known = made.map(({ payment }) => ({ projectId, paymentId: payment.paymentId }))
  const strangers = known.map(({ paymentId }) => ({ projectId: newId(), paymentId }))
  const [first] = known
  if (first === undefined) throw new Error('nothing was made')
  const asked = [
    ...known,
    ...strangers,
    ...known,
    { ...first, paymentId: first.paymentId.toUpperCase() },
  ]
  const found = await Promise.all(asked.map((key) => find(key)))
  expect(statements).toEqual(['payment_read_group'])
  expect(found.map((reading) => reading?.payment.paymentId)).toEqual([
    ...known.map(({ paymentId }) => paymentId),
    ...strangers.map(() => undefined),
    ...known.map(({ paymentId }) => paymentId),
    first.paymentId,
  ])
  expect(found[5]?.payment).toEqual(found[25]?.payment)
})
