// Tests when the payers of announced charges act.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Database, sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { behaviourOf } from '../../connectors/simulator/domain/people.ts'
import { insertCharges } from '../../connectors/simulator/store/charge-store.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
let db: Database
beforeAll(async () => {
  database = await createTestDatabase('simulator', migrationFolders('simulator'))
  db = database.open()
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
