// Runs the SQL of the runbook about refused events: it finds the dead letter, and the event is handled and confirmed after all.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Database, sql } from '#platform/db/db.ts'
import { UnprocessableEvent } from '#platform/events/inbox.ts'
import { blocksOf } from '../docs/pages.ts'
import { eventually } from '../support/eventually.ts'
import { type Harness, metricValue, startBroker, startHarness, type TestBroker } from './harness.ts'

let broker: TestBroker
let harness: Harness
beforeAll(async () => {
  broker = await startBroker()
  harness = await startHarness(broker.url)
})
afterAll(async () => {
  await harness.close()
  await broker.remove()
})

const [diagnosis = '', fix = ''] = blocksOf('docs/runbooks/events-refused.md')
  .filter(({ language }) => language === 'sql')
  .map(({ code }) => code)

/** Runs the page's statements for one event. It names schemas of one database; here each is a database. */
async function runPage(code: string, eventId: string): Promise<unknown[]> {
  const statements = code.split(';').map((text) => text.trim())
  const results: unknown[] = []
  for (const [index, text] of statements.entries()) {
    if (['', 'begin', 'commit'].includes(text)) continue
    const databases: Record<string, Database> = {
      delivery: harness.consumerDb,
      payments: harness.producerDb,
    }
    const [, schema = ''] = /\b(delivery|payments)\./.exec(text) ?? []
    const bare = text.replaceAll(`${schema}.`, '').replaceAll(":'event_id'", '$1')
    const values = bare.includes('$1') ? [eventId] : []
    results.push(...((await databases[schema]?.rows(sql(`page_${index}`, bare), values)) ?? []))
  }
  return results
}

it('an event that was refused is handled once after the runbook was followed', async () => {
  let isRepaired = false
  const consumer = harness.startConsumer({
    handle: async (tx, events) => {
      if (!isRepaired) throw new UnprocessableEvent(events[0]?.eventId ?? '', 'unknown kind')
      await harness.note(tx, events)
    },
  })
  const producer = harness.startProducer()
  const eventId = await harness.write()
  await eventually(async () => expect((await harness.row(eventId)).parked_at).not.toBeNull())
  expect(await runPage(diagnosis, eventId)).toMatchObject([
    { event_id: eventId, reason: 'unknown kind' },
  ])

  isRepaired = true
  await runPage(fix, eventId)
  await eventually(async () => expect((await harness.row(eventId)).confirmed_at).not.toBeNull())
  expect(await harness.row(eventId)).toMatchObject({ parked_at: null, last_error: null })
  expect(await harness.handled()).toEqual([eventId])
  expect(await runPage(diagnosis, eventId)).toEqual([])
  expect(await metricValue(producer.metrics, 'payweave_outbox_dead_letters')).toBe(0)
  expect(await metricValue(consumer.metrics, 'payweave_inbox_dead_letters')).toBe(0)
})
