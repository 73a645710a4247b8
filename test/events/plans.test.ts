// Statements that have the ids of their rows go by these, however many others are open: never through all that are.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { newId } from '#core/identity/id.ts'
import { type Database, type Queryable, type Sql, sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { noteAnswers } from '#platform/events/confirmation-store.ts'
import { confirmDirect, markFailed, markPublished } from '#platform/events/outbox-store.ts'
import { markDone, markLater } from '../../services/payments/store/task-store.ts'
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
    (asked) => noteAnswers(asked, 'delivery', [{ eventId, state: 'seen' }], []),
  ],
  ['charges that were announced', (asked) => markDone(asked, { kind: 'announce', subjectIds })],
  ['charges that were withdrawn', (asked) => markDone(asked, { kind: 'withdraw', subjectIds })],
  ['tasks that are put off', (asked) => markLater(asked, { kind: 'announce', subjectIds })],
])('%s', async (_, work) => {
  const plans = await Promise.all((await statementsOf(work)).map(planOf))
  expect(plans.length).toBeGreaterThan(0)
  for (const plan of plans) {
    expect(plan).toMatch(/Index (Only )?Scan using (outbox|task)_pkey/)
    expect(plan).not.toMatch(/outbox_(fresh|published|pendingRows)|task_open/)
  }
})

type Asked = { statement: Sql; values: unknown[] }

async function statementsOf(work: (asked: Queryable) => Promise<unknown>): Promise<Asked[]> {
  const all: Asked[] = []
  const note = (statement: Sql, values: unknown[]): undefined =>
    void all.push({ statement, values })
  await work({
    rows: (statement, values) => Promise.resolve((note(statement, values), [])),
    row: (statement, values) => Promise.resolve(note(statement, values)),
    run: (statement, values) => Promise.resolve((note(statement, values), 0)),
  })
  return all
}

/** As a connection of the service keeps it for all values. */
async function planOf({ statement: { name, text }, values }: Asked): Promise<string> {
  const explain = sql(`explain_${name}`, `explain (generic_plan) ${text}`)
  const lines = await db.rows<{ 'QUERY PLAN': string }>(explain, values)
  return lines.map((line) => line['QUERY PLAN']).join('\n')
}
