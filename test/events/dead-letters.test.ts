// Runs the commands of the runbook about refused events, against services that serve the dead letters of a producer and a consumer.
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EventDeadLetterService } from '#gen/payweave/events/v1/event_dead_letter_pb.js'
import type { Database } from '#platform/db/db.ts'
import { eventDeadLetterService } from '#platform/events/dead-letter-service.ts'
import type { Side } from '#platform/events/dead-letter-store.ts'
import { UnprocessableEvent } from '#platform/events/inbox.ts'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { type RpcServer, serveRpc } from '#platform/rpc/server/server.ts'
import { connect } from '../../clients/cli/connection.ts'
import { blocksOf } from '../docs/pages.ts'
import { runHere } from '../support/command-line.ts'
import { silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import {
  type Harness,
  metricValue,
  publishSurely,
  startBroker,
  startHarness,
  subject,
  type TestBroker,
} from './harness.ts'

const bearer = 'operator-credential-0123456789'
const dir = mkdtempSync(join(tmpdir(), 'payweave-dead-letters-'))
const servers: RpcServer[] = []
let broker: TestBroker
let harness: Harness
let producer: ReturnType<Harness['startProducer']>
let consumer: ReturnType<Harness['startConsumer']>
/** Which events the consumer rejects. */
let rejected: 'any' | 'none' = 'any'

beforeAll(async () => {
  broker = await startBroker()
  harness = await startHarness(broker.url)
  producer = harness.startProducer()
  consumer = harness.startConsumer({
    handle: async (tx, events) => {
      if (rejected === 'any') throw new UnprocessableEvent(events[0]?.eventId ?? '', 'unknown kind')
      await harness.note(tx, events)
    },
  })
  const sha256 = createHash('sha256').update(bearer).digest('hex')
  const names = ['payments', 'accounts', 'delivery']
  writeIdentities(dir, names, [{ name: 'operator', sha256, rpcs: ['*'] }])
  const serve = async (name: string, db: Database, sides: Side[]) => {
    const server = await serveRpc({
      host: '127.0.0.1',
      port: 0,
      identity: openIdentity({ name, dir: join(dir, name), log: silentLog }),
      log: silentLog,
      routes: (router) => {
        const options = { db, log: silentLog, sides, onDue: producer.notify }
        router.service(EventDeadLetterService, eventDeadLetterService(options))
      },
    })
    servers.push(server)
    return `http://127.0.0.1:${server.port}`
  }
  const grpc = {
    payments: await serve('payments', harness.producerDb, ['outbox']),
    delivery: await serve('delivery', harness.consumerDb, ['inbox']),
    accounts: await serve('accounts', harness.consumerDb, []),
  }
  const file = JSON.stringify({ grpc, grpc_token: bearer, projects: {} })
  writeFileSync(join(dir, 'sandbox.json'), file)
})
afterAll(async () => {
  await Promise.all(servers.map((server) => server.close()))
  await harness.close()
  await broker.remove()
  rmSync(dir, { recursive: true })
})

const run = (...words: string[]) => runHere(dir, 'events', 'dead', ...words)

async function done(...words: string[]): Promise<string> {
  const { code, out, err } = await run(...words)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return out
}

async function withClient(
  part: 'payments' | 'delivery',
  work: (client: Client<typeof EventDeadLetterService>) => Promise<void>,
): Promise<void> {
  const connection = connect({ 'data-dir': dir }, {}, part)
  try {
    await work(connection.client(EventDeadLetterService))
  } finally {
    await connection.close()
  }
}

/** The commands of the runbook's blocks, with the id of an event in place of their variable. */
const page = (eventId: string) =>
  blocksOf('docs/runbooks/events/events-refused.md')
    .filter(({ language, code }) => language === 'sh' && code.includes('events dead'))
    .map(({ code }) =>
      code
        .trim()
        .split('\n')
        .map((line) => wordsOf(line, eventId)),
    )

function wordsOf(line: string, eventId: string): string[] {
  const [command = ''] = line.split(/\s+# /)
  const words = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare)
  return words.slice(4).map((word) => (word === '$event' ? eventId : (word ?? '')))
}

/** Writes an event that becomes a dead letter on both sides. */
async function deadEvent(): Promise<string> {
  rejected = 'any'
  const eventId = await harness.write()
  producer.notify()
  await eventually(async () => expect((await harness.row(eventId)).parked_at).not.toBeNull())
  return eventId
}

const sides = async (eventId: string) =>
  (await done('list', '--json'))
    .split('\n')
    .filter((line) => line.includes(eventId))
    .map((line) => JSON.parse(line) as Record<string, unknown>)

describe('dead letters of events', () => {
  it('an event that was refused is handled once after the runbook was followed', async () => {
    const eventId = await deadEvent()
    const [[listing = []] = [], [retry = []] = [], [discard = []] = []] = page(eventId)
    expect(await done(...listing)).toMatch(/^SINCE +SERVICE +SIDE +EVENT +SUBJECT +REASON$/m)
    expect(await sides(eventId)).toMatchObject([
      { service: 'delivery', side: 'DEAD_LETTER_SIDE_INBOX', reason: 'unknown kind', subject },
      { service: 'payments', side: 'DEAD_LETTER_SIDE_OUTBOX', consumers: ['consumer'], subject },
    ])
    expect(discard.slice(0, 2)).toEqual(['discard', eventId])

    rejected = 'none'
    expect(await done(...retry)).toBe(`event ${eventId} is processed again\n`)
    await eventually(async () => expect((await harness.row(eventId)).confirmed_at).not.toBeNull())
    expect(await harness.row(eventId)).toMatchObject({ parked_at: null, last_error: null })
    expect(await harness.handled()).toEqual([eventId])
    expect(await done('list')).toBe('no dead letters\n')
    expect(await metricValue(producer.metrics, 'payweave_outbox_dead_letters')).toBe(0)
    expect(await metricValue(consumer.metrics, 'payweave_inbox_dead_letters')).toBe(0)
  })

  it('an event that is still rejected is a dead letter again', async () => {
    const eventId = await deadEvent()
    const { parked_at: before } = await harness.row(eventId)
    await done('retry', eventId)
    await eventually(async () => {
      const { parked_at: after } = await harness.row(eventId)
      expect(after === null ? undefined : after > (before ?? after)).toBe(true)
    })
    expect(await sides(eventId)).toHaveLength(2)
    await done('discard', eventId, '--note', 'of no use')
  })

  it('an event that is discarded is never handled, and its end says why for ever', async () => {
    const eventId = await deadEvent()
    expect((await run('discard', eventId)).err).toContain('--note is missing')
    const note = 'posted by hand'
    const ofOne = await run('discard', eventId, '--service', 'delivery', '--note', note)
    expect([ofOne.code, ofOne.err]).toEqual([2, expect.stringContaining('--service cannot be')])
    expect(await sides(eventId)).toHaveLength(2)
    expect(await done('discard', eventId, '--note', note)).toBe(`event ${eventId} is discarded\n`)
    rejected = 'none'
    producer.notify()
    expect((await harness.row(eventId)).confirmed_at).not.toBeNull()
    expect(await sides(eventId)).toEqual([])
    const decided = await done('decisions', '--event', eventId, '--json')
    expect(decided.split('\n').filter((line) => !line.includes(eventId))).toEqual([''])
    expect(await done('decisions', '--event', eventId, '--service', 'payments')).not.toContain(
      'delivery',
    )
    expect((await run('decisions', '--service', 'billing')).code).toBe(2)
    // Accounts has the database of the consumer here.
    const lines = decided
      .split('\n')
      .filter((line) => line.includes(eventId) && !line.includes('"accounts"'))
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject(
      ['delivery', 'payments'].map((service) => ({
        service,
        caller: 'operator',
        discarded: true,
        note,
      })),
    )
    expect(await harness.handled()).not.toContain(eventId)
    for (const part of ['payments', 'delivery'] as const) {
      await withClient(part, async (client) => {
        const first = await client.listEventDeadLetterDecisions({ pageSize: 1 })
        const { nextPageToken: pageToken } = first
        const second = await client.listEventDeadLetterDecisions({ pageSize: 1, pageToken })
        const ids = [...first.decisions, ...second.decisions].map(({ decisionId }) => decisionId)
        expect(new Set(ids).size).toBe(2)
        const ofEvent = await client.listEventDeadLetterDecisions({ eventId })
        expect(ofEvent.decisions.map(({ deadLetter }) => deadLetter?.eventId)).toEqual([eventId])
        const bad = client.listEventDeadLetterDecisions({ pageToken: 'x' })
        await expect(bad).rejects.toMatchObject({ reason: 'INVALID_PARAMETER' })
      })
    }
  })

  it('a message that is no event can be discarded alone, by the id of its dead letter', async () => {
    const nats = harness.openNats()
    await eventually(() => expect(nats.ready()).toBe(true))
    await publishSurely(nats, subject, Buffer.from('no event'), 'a-message')
    let id = ''
    await eventually(async () => {
      id = /none: (\S+)/.exec(await done('list'))?.[1] ?? ''
      expect(id).not.toBe('')
    })
    const retried = await run('retry', id)
    expect([retried.code, retried.err]).toEqual([
      1,
      expect.stringContaining('can only be discarded'),
    ])
    await done('discard', id, '--note', 'a test')
    expect(await done('list')).toBe('no dead letters\n')
    const again = await run('discard', id, '--note', 'a test')
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('DEAD_LETTER_NOT_FOUND')])
  })

  it('dead letters are listed oldest first, page by page, and of two retries at once one succeeds', async () => {
    const ids = [await deadEvent(), await deadEvent(), await deadEvent()]
    await withClient('payments', async (client) => {
      const found: string[] = []
      let pageToken = ''
      do {
        const listed = await client.listEventDeadLetters({ pageSize: 2, pageToken })
        found.push(...listed.deadLetters.map(({ eventId }) => eventId))
        pageToken = listed.nextPageToken
      } while (pageToken !== '')
      expect(found).toEqual(ids)
      const [deadLetterId = ''] = ids
      const ended = await Promise.allSettled(
        [1, 2].map(() => client.retryEventDeadLetter({ deadLetterId })),
      )
      expect(ended.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    })
  })
})

it.each([
  ['no id', ['retry']],
  ['two ids', ['discard', 'x', 'y', '--note', 'n']],
  ['an id of a list', ['list', 'x']],
  ['an unknown word', ['drop', 'x']],
  ['a service of a retry', ['retry', 'x', '--service', 'delivery']],
  ['an event of a discard', ['discard', 'x', '--event', 'y', '--note', 'n']],
] as const)('the command on dead letters refuses %s', async (_what, words) => {
  expect(await run(...words)).toMatchObject({ code: 2, out: '' })
})
