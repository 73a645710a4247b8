// Tests that attempts on one charge begin and end at the same time without a deadlock, in several sessions of PostgreSQL.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Database, sql } from '#platform/db/db.ts'
import { connectorMigrations } from '../../connectors/kit/connector.ts'
import { startAttempt } from '../../connectors/kit/operations/attempts.ts'
import {
  findAttempt,
  findCharge,
  insertAttempt,
  insertCharges,
  lockCharge,
  updateAttempt,
} from '../../connectors/kit/store/payment-store.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

const waiting = sql(
  'test_waiting',
  `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
)

let database: TestDatabase
let db: Database
/** Sees the waits of all sessions. */
let owner: Database

beforeAll(async () => {
  database = await createTestDatabase('connector', connectorMigrations())
  db = database.open()
  owner = database.open({ service: undefined })
})
afterAll(() => database.drop())

it.each([{ outcome: 'paid' }, { outcome: 'refused', refusal: null }] as const)(
  'an attempt is $outcome once while another begins on its charge, without a deadlock',
  async (end) => {
    const [chargeId, attemptId, next] = [randomUUID(), randomUUID(), randomUUID()]
    const money = { currency: 'USD', amountMinor: 100n, mobileNumber: '+12025550100' }
    const expireTime = new Date(Date.now() + 3_600_000)
    await insertCharges(db, [{ chargeId, businessName: 'Shop', expireTime, ...money }])
    await startAttempt(db, chargeId, attemptId)

    // A transaction that PostgreSQL ends by a deadlock runs again.
    let runs = 0
    let ends: Promise<string | undefined>[] = []
    const hasBegun = await db.transaction(async (tx) => {
      expect(runs).toBe(0)
      runs += 1
      await lockCharge(tx, chargeId)
      ends = [1, 2].map(() =>
        db.transaction((other) => {
          runs += 1
          return updateAttempt(other, attemptId, end)
        }),
      )
      await eventually(async () => expect(await owner.rows(waiting, [])).toHaveLength(2))
      return await insertAttempt(tx, next, chargeId, 'processing')
    })
    expect(hasBegun).toBe(false)
    expect(new Set(await Promise.all(ends))).toEqual(new Set([chargeId, undefined]))
    expect(runs).toBe(3)
    expect(await findAttempt(db, attemptId)).toMatchObject({ outcome: end.outcome })
    expect(await findCharge(db, chargeId)).toMatchObject({
      state: end.outcome === 'paid' ? 'paid' : 'open',
    })
  },
)
