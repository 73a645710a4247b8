// A payout or refund whose money leaves, or comes back, days after it was settled agrees on each of these days.
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Database, sql } from '#platform/db/db.ts'
import { connectorMigrations } from '../../connectors/kit/connector.ts'
import type { Settled } from '../../connectors/kit/domain/reconcile.ts'
import { acceptCredit, endCredit } from '../../connectors/kit/operations/credits.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { day, differencesIn, money, moved, receipt, runReconcile } from './reconcile-harness.ts'

const later = '2026-11-28'
const laterNoon = new Date(`${later}T12:00:00Z`)
const nowMs = Date.parse('2026-12-05T00:00:00Z')
let database: TestDatabase
let db: Database

beforeEach(async () => {
  database = await createTestDatabase('connector', connectorMigrations())
  db = database.open({ readsWholeTables: true })
})
afterEach(() => database.drop())

const setEndTime = sql('test_end_time', 'update credit set ended_at = $2 where reference = $1')

/** Makes a payout or refund of the connector that ended on the later day. */
async function credit(kind: 'payout' | 'refund', state: 'completed' | 'failed'): Promise<string> {
  const reference = randomUUID()
  const order = { reference, kind, chargeId: null, mobileNumber: '+12025550100', ...money }
  await acceptCredit(db, order, 'sent by nobody')
  await endCredit(db, reference, state)
  await db.run(setEndTime, [reference, laterNoon])
  return reference
}

const payout = (payeeId: string, changed: Partial<Settled> = {}) =>
  receipt('', { kind: 'PAYOUT', payeeId, ...changed })
const refund = (settlementId: string, changed: Partial<Settled> = {}) =>
  receipt('', { kind: 'REFUND', settlementId, reversesId: randomUUID(), ...changed })
const refundReturned = (reversesId: string, time: Date) =>
  receipt('', { kind: 'REFUND_RETURNED', reversesId, time })

it.each([
  ['its settlement', 'a report', day],
  ['its settlement', 'own records', day],
  ['its movement', 'a report', later],
  ['its movement', 'own records', later],
])(
  'money that left three days after it was settled agrees on the day of %s by %s, and an amount that differs is named',
  async (_, source, word) => {
    const [paid, refunded] = [
      await credit('payout', 'completed'),
      await credit('refund', 'completed'),
    ]
    const reported = [paid, refunded].map((reference) => moved(reference, { time: laterNoon }))
    const movements = source === 'a report' ? reported : undefined
    const run = (settled: Settled[]) =>
      runReconcile(db, { movements, settled, words: [word], nowMs })
    const agreed = await run([payout(paid), refund(refunded)])
    expect(agreed.text).toContain('0 differences')
    expect(agreed.code).toBe(0)
    const more = { amountMinor: 1251n }
    const { code, text } = await run([payout(paid, more), refund(refunded, more)])
    expect(differencesIn(text)).toEqual(
      [paid, refunded]
        .toSorted()
        .map(
          (reference) =>
            `amount_differs  ${reference}: the provider moved 12.50 EUR, Payweave settled 12.51 EUR`,
        ),
    )
    expect(code).toBe(1)
  },
)

it('a refund that came back days later at the provider is named on that day, unless Payweave has its return or has not settled it', async () => {
  const [lost, known, failed] = [randomUUID(), randomUUID(), randomUUID()]
  const back = [lost, known, failed].map((reference) => moved(reference, { time: laterNoon }))
  const settled = [refund(lost), refund(known), refundReturned(known, laterNoon)]
  const run = (word: string, rest: Settled[] = []) =>
    runReconcile(db, {
      movements: [moved(lost), moved(known)],
      returned: back,
      settled: [...settled, ...rest],
      words: [word],
      nowMs,
    })
  const { code, text } = await run(later)
  expect(differencesIn(text)).toEqual([
    `not_returned  ${lost}: 12.50 EUR came back at the provider, Payweave has no return`,
  ])
  expect(code).toBe(1)
  expect(await run(later, [refundReturned(lost, laterNoon)])).toMatchObject({ code: 0 })
})

it('a payout or refund that failed days later is no difference, but one whose return Payweave lacks is', async () => {
  const [unpaid, unrefunded, lacking] = [
    await credit('payout', 'failed'),
    await credit('refund', 'failed'),
    await credit('payout', 'failed'),
  ]
  const settled = [
    payout(unpaid),
    payout(unpaid, { kind: 'PAYOUT_RETURNED', time: laterNoon }),
    refund(unrefunded),
    refundReturned(unrefunded, laterNoon),
  ]
  expect(await runReconcile(db, { movements: [], settled, nowMs })).toMatchObject({ code: 0 })
  const { code, text } = await runReconcile(db, {
    movements: [],
    settled: [...settled, payout(lacking)],
    nowMs,
  })
  expect(differencesIn(text)).toEqual([
    `not_reported  ${lacking}: Payweave settled 12.50 EUR, the provider moved nothing`,
  ])
  expect(code).toBe(1)
})

it('money that left late and came back later still agrees, but money that left after Payweave had its return is named', async () => {
  const [returned, contradicted] = [
    await credit('refund', 'failed'),
    await credit('refund', 'failed'),
  ]
  const run = (settled: Settled[], reference: string) => {
    const movements = [moved(reference, { time: laterNoon })]
    return runReconcile(db, { movements, settled, words: [later], nowMs })
  }
  const afterwards = new Date('2026-12-02T12:00:00Z')
  const agreed = await run([refund(returned), refundReturned(returned, afterwards)], returned)
  expect(agreed).toMatchObject({ code: 0 })
  const before = new Date('2026-11-26T12:00:00Z')
  const differ = [refund(contradicted), refundReturned(contradicted, before)]
  const { code, text } = await run(differ, contradicted)
  expect(differencesIn(text)).toEqual([
    `not_settled  ${contradicted}: the provider moved 12.50 EUR, Payweave settled nothing`,
  ])
  expect(code).toBe(1)
})

it('a completed payout that the provider never reports is named on the day of its settlement', async () => {
  const paid = await credit('payout', 'completed')
  const { text } = await runReconcile(db, { movements: [], settled: [payout(paid)], nowMs })
  expect(differencesIn(text)).toEqual([
    `not_reported  ${paid}: Payweave settled 12.50 EUR, the provider moved nothing`,
  ])
})
