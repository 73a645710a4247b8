// Tests what is recorded of a report by a process whose lease on it has ended.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Database, sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import {
  claimReports,
  insertPayouts,
  noteReports,
  type Sent,
} from '../../connectors/simulator/store/report-store.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
let db: Database
beforeAll(async () => {
  database = await createTestDatabase('simulator', migrationFolders('simulator'))
  db = database.open()
})
afterAll(() => database?.drop())

async function claim() {
  const [report] = await claimReports(db, ['payout'], 1, 0)
  if (report === undefined) throw new Error('no report is due')
  const { subjectId, kind, position, attempts } = report
  return { subjectId, kind, position, attempts }
}

const stateStatement = sql(
  'test_report_state',
  `select delivered_at is not null as "isDelivered", parked_at is not null as "isDeadLetter", last_reason as reason
   from report where subject_id = $1`,
)

/** A report that two processes have claimed, as the second one recorded it and then the first one. */
async function afterBoth(second: Partial<Sent>, first: Partial<Sent>): Promise<unknown> {
  const payout = { payoutId: randomUUID(), currency: 'USD', amountMinor: 1n }
  await insertPayouts(db, [{ ...payout, mobileNumber: '+12025550101' }])
  const [one, two] = [await claim(), await claim()]
  expect([one.subjectId, two.subjectId]).toEqual([payout.payoutId, payout.payoutId])
  await noteReports(db, [{ ...two, outcome: 'again', delayMs: 60_000, ...second }])
  await noteReports(db, [{ ...one, outcome: 'again', delayMs: 60_000, ...first }])
  return db.row(stateStatement, [payout.payoutId])
}

it('a late failure leaves what another process has recorded', async () => {
  const deadLetter = { outcome: 'dead_letter', reason: 'CHARGE_NOT_FOUND' } as const
  expect(await afterBoth(deadLetter, { reason: 'TIMEOUT' })).toEqual({
    isDelivered: false,
    isDeadLetter: true,
    reason: 'CHARGE_NOT_FOUND',
  })
  expect(await afterBoth({ reason: 'TIMEOUT' }, deadLetter)).toMatchObject({ isDeadLetter: false })
})

it('a report that was accepted is recorded as delivered, however late', async () => {
  expect(await afterBoth({ reason: 'TIMEOUT' }, { outcome: 'delivered' })).toMatchObject({
    isDelivered: true,
  })
})
