// Tests that a tail receives the attempts of all replicas as they end, and a count of those it missed.
import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import { connectNats, type Nats } from '#platform/events/nats/nats.ts'
import { createTail, type TailItem, type TailOptions } from '../../services/delivery/api/tail.ts'
import type { EndedAttempt } from '../../services/delivery/workers/completer.ts'
import { silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

const projectId = randomUUID()
const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function replica(options: Partial<TailOptions> = {}) {
  const nats: Nats = connectNats({
    url: process.env['TEST_NATS_URL'] ?? '',
    name: 'test',
    log: silentLog,
  })
  await eventually(() => nats.ready())
  const tail = createTail({ nats, log: silentLog, ...options })
  closers.push(() => nats.close(), tail.close)
  return tail
}

const timings = { resolveMs: 1, connectMs: 0, firstByteMs: 2, retryAfterS: 7 }

function ended(changes: Partial<EndedAttempt['claimed']> = {}): EndedAttempt {
  return {
    claimed: {
      deliveryId: randomUUID(),
      endpointId: randomUUID(),
      projectId,
      eventId: randomUUID(),
      subjectId: 'payment-1',
      kind: 'notify',
      url: 'https://receiver.example/hook?secret=1',
      body: Buffer.from('{}'),
      failures: 0,
      number: 1,
      earlierAttempts: 0,
      startedAt: new Date(),
      occurredAt: new Date(),
      leaseToken: randomUUID(),
      round: 1,
      hostname: 'receiver.example',
      traceparent: null,
      ...changes,
    },
    end: { outcome: 'delivered', status: 200, ...timings, totalMs: 3 },
    completed: { deliveryId: '', state: 'delivered', nextAttemptAt: null },
  }
}

/** Opens a tail and passes its first heartbeat. */
async function open(
  tail: Awaited<ReturnType<typeof replica>>,
  kind?: 'notify' | 'callback',
  of: { projectId: string; person: string | undefined } = { projectId, person: undefined },
) {
  const abort = new AbortController()
  const items = tail.open({ ...of, kind }, abort.signal)
  expect(caseOf((await items.next()).value)).toBe('heartbeat')
  closers.push(() => abort.abort())
  return { abort, next: async () => (await items.next()).value as TailItem | undefined }
}

const caseOf = (item: TailItem | undefined | void) =>
  (item as { event?: { case?: string } } | undefined)?.event?.case
const valueOf = (item: TailItem | undefined) =>
  (item as { event: { value: Record<string, unknown> } }).event.value

describe('a tail', () => {
  it('a tail shows attempts of every replica, of its project and kind alone, without path or query', async () => {
    const [here, there] = [await replica(), await replica()]
    const { next } = await open(here, 'callback')
    const wanted = ended({ kind: 'callback' })
    const seen = next()
    // The other replica reports from the moment at which it has heard that somebody tails.
    const reporting = setInterval(() => {
      there.report([ended(), ended({ projectId: randomUUID(), kind: 'callback' }), wanted])
    }, 20)
    const item = await seen
    clearInterval(reporting)
    expect(caseOf(item)).toBe('change')
    expect(valueOf(item)).toMatchObject({
      deliveryId: wanted.claimed.deliveryId,
      origin: 'https://receiver.example',
      attempt: { number: 1, round: 1, status: 200, durationMs: 3, ...timings },
    })
    expect(
      JSON.stringify(valueOf(item), (_key, value: unknown) =>
        typeof value === 'bigint' ? Number(value) : value,
      ),
    ).not.toContain('secret')
  })

  it('a tail reports to a slow reader how many changes it missed, at the place of the gap', async () => {
    const tail = await replica({ bufferLimit: 10 })
    const { next } = await open(tail)
    const { next: quick } = await open(tail)
    const first = quick()
    tail.report(Array.from({ length: 100 }, () => ended()))
    // Changes that are reported together are offered to all readers before any of them goes on.
    await first
    const cases: (string | undefined)[] = []
    for (let n = 0; n < 11; n += 1) cases.push(caseOf(await next()))
    const gap = cases.indexOf('gap')
    expect(cases.filter((one) => one === 'change')).toHaveLength(10)
    expect(gap).toBe(10)
    const last = ended()
    tail.report([last])
    expect(valueOf(await next())).toMatchObject({ deliveryId: last.claimed.deliveryId })
  })

  it('a tail sends heartbeats while it is idle, and ends when it is aborted', async () => {
    const tail = await replica({ heartbeatMs: 50 })
    const { abort, next } = await open(tail)
    expect(caseOf(await next())).toBe('heartbeat')
    expect(caseOf(await next())).toBe('heartbeat')
    const rest = next()
    abort.abort()
    expect(await rest).toBeUndefined()
  })

  it('readers of one project, and one person, leave room for all others', async () => {
    const tail = await replica({ readerLimit: 6, projectLimit: 3, personLimit: 2 })
    const reading = (person: string | undefined, of = projectId) =>
      open(tail, undefined, { projectId: of, person })
    const full = { reason: 'RATE_LIMIT_EXCEEDED' }
    const { abort } = await reading('one')
    await reading('one')
    await expect(reading('one')).rejects.toMatchObject(full)
    await expect(reading('one', randomUUID())).rejects.toMatchObject(full)
    await reading('two')
    await expect(reading('three')).rejects.toMatchObject(full)
    await reading('three', randomUUID())
    abort.abort()
    await reading('three')
    await reading('four', randomUUID())
    await reading(undefined, randomUUID())
    await expect(reading('six', randomUUID())).rejects.toMatchObject(full)
  })

  it('a tail ends with its replica', async () => {
    const tail = await replica()
    const { next } = await open(tail)
    tail.close()
    expect(await next()).toBeUndefined()
  })
})
