// Tests when the payers of announced charges act.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Database, type Queryable, sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { createTestClock } from '#platform/testing/clock.ts'
import { createManualTimers } from '#platform/testing/timers.ts'
import { behaviourOf } from '../../connectors/simulator/domain/people.ts'
import { insertCharges } from '../../connectors/simulator/store/charge-store.ts'
import { startActor } from '../../connectors/simulator/workers/actor.ts'
import { startDuePoll } from '../../connectors/simulator/workers/poll.ts'
import { createTestDatabase, silentLog, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

let database: TestDatabase
let db: Database
const testClock = createTestClock()
beforeAll(async () => {
  database = await createTestDatabase('simulator', migrationFolders('simulator'))
  db = database.open({ testClock })
})
afterAll(() => database?.drop())

/** Announces charges of payers who pay after a second, in one call; returns their ids. */
async function announce(count: number): Promise<string[]> {
  const mobileNumber = '+12025550101'
  const charges = Array.from({ length: count }, () => ({
    chargeId: randomUUID(),
    currency: 'USD',
    amountMinor: 1n,
    mobileNumber,
    channel: 'payment_link' as const,
    businessName: 'Demo Store',
    cashCode: '',
    expireTime: new Date(Date.now() + 60_000),
    behaviour: behaviourOf(mobileNumber),
  }))
  await insertCharges(db, charges)
  return charges.map(({ chargeId }) => chargeId)
}

const actsStatement = sql(
  'test_acts',
  `select round(extract(epoch from c.act_at - c.announced_at) * 1000)::integer as ms
   from unnest($1::uuid[]) with ordinality as g (charge_id, n) join charge c using (charge_id) order by n`,
)

it('the payers of one call act after each other, at most 30 ms later', async () => {
  const acts = await db.rows<{ ms: number }>(actsStatement, [await announce(6)])
  expect(acts.map(({ ms }) => ms)).toEqual([1_000, 1_010, 1_020, 1_030, 1_000, 1_010])
})

it('an act costs the round trips of the claim and of all writes', async () => {
  await announce(2)
  testClock.advance(2_000)
  const steps: string[] = []
  const noted = async <T>(name: string, call: () => Promise<T>): Promise<T> => {
    steps.push(name)
    const result = await call()
    steps.push(`${name} ended`)
    return result
  }
  const acting: Database = {
    ...db,
    transaction: (work) =>
      db.transaction((tx) => {
        const spied: Queryable = {
          rows: (statement, values) => noted(statement.name, () => tx.rows(statement, values)),
          row: (statement, values) => noted(statement.name, () => tx.row(statement, values)),
          run: (statement, values) => noted(statement.name, () => tx.run(statement, values)),
        }
        return work(spied)
      }),
  }
  const actor = startActor({ db: acting, log: silentLog, reportsWritten: () => undefined })
  await eventually(() => expect(steps).toContain('advance_plans ended'))
  await actor.close()
  expect(steps.slice(0, 5)).toEqual([
    'claim_due_charges',
    'claim_due_charges ended',
    'insert_attempts',
    'advance_charges',
    'advance_plans',
  ])
})

it('work that is due after the pause is left to its end, earlier work ends it', async () => {
  const timers = createManualTimers()
  const dueInMs = [undefined, 600, 400, 0]
  let asked = 0
  let worked = 0
  const loop = startDuePoll({
    kind: 'test',
    log: silentLog,
    timers,
    waitMs: () => Promise.resolve(dueInMs[asked++]),
    workOff: () => Promise.resolve(void (worked += 1)),
  })
  // While the loop asks, it may miss what was stored before.
  loop.notifyIn(1_000)
  await timers.advance(0)
  expect(asked).toBe(2)
  loop.notifyIn(600)
  await timers.advance(100)
  expect(asked).toBe(2)
  loop.notifyIn(400)
  await timers.advance(0)
  expect(asked).toBe(3)
  await timers.advance(400)
  expect([asked, worked]).toEqual([4, 1])
  await loop.close()
})
