// Tests how long events are kept, and what a consumer answers about them.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { randomId } from '#core/identity/id.ts'
import { type Database, sql } from '#platform/db/db.ts'
import { recordAnswers } from '#platform/events/confirmation-store.ts'
import { answerSeen } from '#platform/events/inbox-routes.ts'
import { claimNewEvents, deleteProcessed, storeDeadLetter } from '#platform/events/inbox-store.ts'
import { insertEvent } from '#platform/events/outbox.ts'
import { deleteConfirmed } from '#platform/events/outbox-store.ts'
import { createTestClock, type TestClock } from '#platform/testing/clock.ts'
import { makeDatabase } from './harness.ts'

const dayMs = 86_400_000
const count = sql(
  'count_rows',
  `select (select count(*)::integer from outbox) as events,
     (select count(*)::integer from confirmation) as answers`,
)

let clock: TestClock
let db: Database

beforeEach(async () => {
  clock = createTestClock()
  db = await makeDatabase(['clock', 'outbox', 'inbox'], clock)
})
afterEach(() => db.close())

async function writeEvents(number: number): Promise<string[]> {
  const ids = Array.from({ length: number }, randomId)
  for (const eventId of ids) {
    const event = { eventId, subject: 'pw.test.event', projectId: undefined }
    await insertEvent(db, { ...event, payload: Buffer.from('fact') })
  }
  return ids
}

describe('old rows', () => {
  it('a confirmed event is deleted after a week with its answers, and others stay', async () => {
    const [seen = '', poisoned = ''] = await writeEvents(3)
    const needs = [{ subject: 'pw.test.event', consumer: 'delivery' }]
    const ended = await db.transaction((tx) =>
      recordAnswers(
        tx,
        'delivery',
        [
          { eventId: seen, state: 'seen' },
          { eventId: poisoned, state: 'poisoned' },
        ],
        needs,
      ),
    )
    expect(ended).toEqual({ confirmed: 1, deadLettered: 1 })
    clock.advance(7 * dayMs - 3_600_000)
    expect(await deleteConfirmed(db, 100)).toBe(0)
    clock.advance(3_600_001)
    expect(await deleteConfirmed(db, 100)).toBe(1)
    expect(await db.row(count, [])).toEqual({ events: 2, answers: 1 })
  })

  it('a deletion removes at most the given number of rows', async () => {
    await claimNewEvents(db, Array.from({ length: 5 }, randomId))
    clock.advance(30 * dayMs + 1)
    expect(await deleteProcessed(db, 3)).toBe(3)
    expect(await deleteProcessed(db, 3)).toBe(2)
  })

  it('a taken event is known for thirty days', async () => {
    const eventId = randomId()
    await claimNewEvents(db, [eventId])
    clock.advance(30 * dayMs - 3_600_000)
    expect(await deleteProcessed(db, 100)).toBe(0)
    expect((await answerSeen(db, [eventId])).known).toHaveLength(1)
  })
})

describe('the question which events were seen', () => {
  it('the inbox distinguishes seen events from dead letters and leaves out unknown ones', async () => {
    const [seen, poisoned, both, unknown] = Array.from({ length: 4 }, randomId) as [
      string,
      string,
      string,
      string,
    ]
    await claimNewEvents(db, [seen, both])
    for (const eventId of [poisoned, both, poisoned]) {
      await storeDeadLetter(db, { eventId, subject: 's', message: Buffer.from('m'), reason: 'r' })
    }
    const { known } = await answerSeen(db, [seen, poisoned, both, unknown])
    const states = Object.fromEntries(known.map(({ eventId, state }) => [eventId, state]))
    expect(states).toEqual({ [seen]: 1, [poisoned]: 2, [both]: 1 })
  })

  it('two last confirmations that come at once count as two, and the event ends', async () => {
    const ids = await writeEvents(50)
    const needs = ['delivery', 'ledger'].map((consumer) => ({ subject: 'pw.test.event', consumer }))
    const answers = ids.map((eventId) => ({ eventId, state: 'seen' as const }))
    const ended = await Promise.all(
      needs.map(({ consumer }) =>
        db.transaction((tx) => recordAnswers(tx, consumer, answers.toReversed(), needs)),
      ),
    )
    expect(ended.map(({ confirmed }) => confirmed).toSorted((a, b) => a - b)).toEqual([0, 50])
  })
})
