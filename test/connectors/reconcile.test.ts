// A day is reconciled with settlements: each planted difference is named, what agrees or is open is not, and the exit code says so.
import { execFile } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { SettlementKind, SettlementService } from '#gen/payweave/payments/v1/settlement_pb.js'
import type { Database } from '#platform/db/db.ts'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { serveRpc } from '#platform/rpc/server/server.ts'
import { connectorMigrations } from '../../connectors/kit/connector.ts'
import type { Movement, Settled } from '../../connectors/kit/domain/reconcile.ts'
import { endAttempt, startAttempt } from '../../connectors/kit/operations/attempts.ts'
import { acceptCredit, endCredit } from '../../connectors/kit/operations/credits.ts'
import { insertCharges } from '../../connectors/kit/store/payment-store.ts'
import { stripeAt } from '../../connectors/stripe/ports/stripe.ts'
import { createTestDatabase, silentLog, type TestDatabase } from '../support/database.ts'
import {
  day,
  differencesIn,
  money,
  moved,
  noon,
  type Plan,
  receipt,
  runReconcile,
} from './reconcile-harness.ts'
import { cards, secretKey, startStripe } from './stripe-mock.ts'

let database: TestDatabase
let db: Database

beforeAll(async () => {
  database = await createTestDatabase('connector', connectorMigrations())
  db = database.open({ readsWholeTables: true })
})
afterAll(() => database.drop())

const run = (movements: Movement[] | undefined, settled: Settled[], rest: Partial<Plan> = {}) =>
  runReconcile(db, { movements, settled, ...rest })

it('two sides that agree end with 0, also when one wrote a movement on the other side of midnight', async () => {
  const before = { time: new Date('2026-11-24T23:59:59Z') }
  const { code, text } = await run(
    [moved('a'), moved('b', before)],
    [receipt('b'), receipt('a'), receipt('old', before), receipt('fee', { kind: 'FEE' })],
  )
  expect(text).toContain('provider     1 movements, by a test')
  expect(text).toContain('settlements  2 movements')
  expect(text).toContain('foreign      2')
  expect(text).toContain('0 differences')
  expect(code).toBe(0)
})

it('a movement that one side lacks, has twice, or with another amount or currency is named, and the command ends with 1', async () => {
  const { code, text } = await run(
    [moved('equal'), moved('lost'), moved('twice'), moved('twice'), moved('more'), moved('franc')],
    [
      receipt('equal'),
      receipt('twice'),
      receipt('more', { amountMinor: 1251n }),
      receipt('franc', { currency: 'CHF' }),
      receipt('phantom'),
      receipt('booked'),
      receipt('booked'),
    ],
  )
  expect(code).toBe(1)
  expect(differencesIn(text)).toEqual([
    'repeated  booked: 2 times at the settlement',
    'not_reported  booked: Payweave settled 12.50 EUR, the provider moved nothing',
    'amount_differs  franc: the provider moved 12.50 EUR, Payweave settled 12.50 CHF',
    'not_settled  lost: the provider moved 12.50 EUR, Payweave settled nothing',
    'amount_differs  more: the provider moved 12.50 EUR, Payweave settled 12.51 EUR',
    'not_reported  phantom: Payweave settled 12.50 EUR, the provider moved nothing',
    'repeated  twice: 2 times at the provider',
  ])
  expect(text).toContain('7 differences')
})

it('a connector without a report of its provider compares its own records, of which open payouts are no difference', async () => {
  const [chargeId, attemptId, lost] = [randomUUID(), randomUUID(), randomUUID()]
  const mobileNumber = '+12025550100'
  const charge = { mobileNumber, businessName: 'Shop', expireTime: new Date(Date.now() + 60_000) }
  for (const [id, attempt] of [
    [chargeId, attemptId],
    [randomUUID(), lost],
  ] as const) {
    await insertCharges(db, [{ chargeId: id, ...charge, ...money }])
    await startAttempt(db, id, attempt)
    await endAttempt(db, attempt, { outcome: 'paid' })
  }
  const [open, done] = [randomUUID(), randomUUID()]
  for (const reference of [open, done])
    await acceptCredit(
      db,
      { reference, kind: 'payout', chargeId: null, mobileNumber, ...money },
      'sent by nobody',
    )
  await endCredit(db, done, 'completed')
  const time = new Date()
  const payout = (payeeId: string) => receipt('', { kind: 'PAYOUT', payeeId, time })
  const settled = [receipt(attemptId, { time }), payout(open), payout(done)]
  const today = time.toISOString().slice(0, 10)
  const { code, text } = await run(undefined, settled, {
    words: [today],
    nowMs: Date.now() + 2 * 86_400_000,
  })
  expect(text).toContain('records of the connector: the provider has no report')
  expect(text).toContain(`open         ${open}`)
  expect(text).toContain(`not_settled  ${lost}`)
  expect(text).toContain('1 differences')
  expect(code).toBe(1)
})

it.each([[[]], [['2026-11-31']], [['25.11.2026']], [[day, day]]])(
  'the words %j are refused, since they are no day',
  async (words) => {
    const { code, text } = await run([], [], { words })
    expect(code).toBe(2)
    expect(text).toContain('reconcile 2026-11-25')
  },
)

it('a day that has not ended, or less than two minutes ago, is refused, since payments does not list its last settlements yet', async () => {
  const lastMinute = { time: new Date(`${day}T23:59:50Z`) }
  const runAt = (time: string) =>
    run([moved('a', lastMinute)], [], { nowMs: Date.parse(`2026-11-${time}Z`) })
  for (const time of ['25T23:00:00', '26T00:00:20', '26T00:01:59.999'])
    expect(await runAt(time)).toEqual({
      code: 2,
      text: '2026-11-25 can be reconciled from 2026-11-26T00:02:00.000Z: its settlements are not complete before\n',
    })
  expect(await runAt('26T00:02:00')).toMatchObject({ code: 1 })
})

it('Stripe’s balance transactions are read by page, in the payer’s currency, without refunds that failed and money of others', async () => {
  const stripe = await startStripe()
  stripe.sendEventsTo('http://127.0.0.1:1/')
  const calls = stripeAt(stripe.url, secretKey)
  const pay = async (attemptId: string, amount: number, currency: string) => {
    const order = { attemptId, chargeId: randomUUID(), amount, currency, name: 'Shop' }
    const intent = await calls.create(order, randomUUID())
    if ('rejected' in intent) throw new Error(intent.rejected)
    await calls.confirm(intent.intentId, `ctoken_${cards.good}`, randomUUID())
    return intent.intentId
  }
  const attempt = randomUUID()
  await pay(attempt, 1_250, 'EUR')
  for (let times = 0; times < 100; times += 1) stripe.payElsewhere()
  const francs = randomUUID()
  const intentId = await pay(francs, 500, 'UGX')
  const [returned, failed] = [randomUUID(), randomUUID()]
  await calls.refund({ reference: returned, intentId, amount: 100 }, randomUUID())
  await calls.refund({ reference: failed, intentId, amount: 200 }, randomUUID())
  stripe.settleRefund(failed, 'failed')
  const from = new Date(Date.now() - 60_000)
  const found = await calls.movements(from, new Date(Date.now() + 60_000))
  expect(found.foreign).toBe(100)
  const amounts = new Map(
    found.movements.map(({ reference, amountMinor, currency }) => [
      reference,
      `${amountMinor} ${currency}`,
    ]),
  )
  expect(found.movements).toHaveLength(3)
  expect(amounts.get(attempt)).toBe('1250 EUR')
  expect(amounts.get(francs)).toBe('5 UGX')
  expect(amounts.get(returned)).toBe('1 UGX')
  expect(amounts.has(failed)).toBe(false)
  const back = found.returned?.map(({ reference, amountMinor }) => [reference, amountMinor])
  expect(back).toEqual([[failed, 2n]])
  const none = { movements: [], returned: [], foreign: 0 }
  expect(await calls.movements(new Date(0), from)).toEqual(none)
  expect(stripe.violations).toEqual([])
  await stripe.close()
})

it('the process reads the settlements of its own name from payments with the given bearer, and exits with the code of the result', async () => {
  const secrets = mkdtempSync(join(tmpdir(), 'payweave-reconcile-'))
  const token = 'pwop_of_a_test'
  const sha256 = createHash('sha256').update(token).digest('hex')
  const rpcs = ['payweave.payments.v1.SettlementService/ListSettlements']
  const names = ['payments', 'connector-acme']
  writeIdentities(secrets, names, [{ name: 'operator', sha256, rpcs }])
  for (const file of ['acme-api-key', 'acme-webhook-secret'])
    writeFileSync(join(secrets, 'connector-acme', file), 'of a test\n')
  const asked: string[] = []
  const settlements = Array.from({ length: 501 }, () => ({
    settlementId: randomUUID(),
    kind: SettlementKind.PAYER_RECEIPT,
    attemptId: randomUUID(),
    currency: 'EUR',
    amountMinor: 1250n,
    createTime: timestampFromDate(noon),
  }))
  const server = await serveRpc({
    host: '127.0.0.1',
    port: 0,
    log: silentLog,
    identity: openIdentity({ name: 'payments', dir: join(secrets, 'payments'), log: silentLog }),
    routes: (router) =>
      router.service(SettlementService, {
        async listSettlements({ connector, createdFrom, createdTo, references }) {
          if (references.length > 0) {
            asked.push(`${connector} ${references.length} references`)
            return { settlements: [], nextPageToken: randomUUID(), caughtUp: true }
          }
          const times = [createdFrom, createdTo].map((one) => one && timestampDate(one))
          asked.push(`${connector} ${times.map((one) => one?.toISOString()).join(' ')}`)
          return { settlements, nextPageToken: randomUUID(), caughtUp: true }
        },
      }),
  })
  const env = {
    PATH: process.env['PATH'],
    DATABASE_URL: database.url,
    SECRETS_DIR: join(secrets, 'connector-acme'),
    BACKEND_NAME: 'connector-acme',
    PAYMENTS_URL: `http://127.0.0.1:${server.port}`,
    ACME_URL: 'http://127.0.0.1:1',
    PAYWEAVE_TOKEN: token,
  }
  const main = join(import.meta.dirname, '../../connectors/example/main.ts')
  const ended = await new Promise<{ code: unknown; text: string }>((resolve) => {
    execFile(process.execPath, [main, 'reconcile', day], { env }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, text: stdout + stderr }),
    )
  })
  for (const { attemptId } of settlements)
    expect(ended.text).toContain(`not_reported  ${attemptId}`)
  expect(ended.code).toBe(1)
  expect(asked).toEqual([
    'connector-acme 2026-11-24T00:00:00.000Z 2026-11-27T00:00:00.000Z',
    'connector-acme 500 references',
    'connector-acme 1 references',
  ])
  await server.close()
  rmSync(secrets, { recursive: true })
})
