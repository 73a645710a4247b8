// Load balancing over instances: no call is lost when one drains, none is repeated when one is killed.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { newId } from '#core/identity/id.ts'
import { InboxService } from '#gen/payweave/events/v1/events_pb.js'
import { eventually } from '../../../test/support/eventually.ts'
import { startInbox } from '../../testing/rpc/harness.ts'
import type { Resolve } from './addresses.ts'
import { createRpcClient } from './client.ts'
import { createDispatcher } from './dispatcher.ts'

const callers = 16
const answerAfterMs = 5
const hosts = ['127.0.0.2', '127.0.0.3', '127.0.0.4'] as const

const closers: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

type Started = Awaited<ReturnType<typeof startInbox>>
type Instance = { host: string; seen: Set<string>; close(): Promise<void> }

/** Instances of one service on one port of several loopback addresses, as pods are. */
function service(drainMs = 0) {
  let first: Started | undefined
  return {
    get port() {
      return first?.server.port ?? 0
    },
    get first() {
      if (first === undefined) throw new Error('no instance has been started')
      return first
    },
    async start(host: string): Promise<Instance> {
      const seen = new Set<string>()
      const handler = async ({ eventIds }: { eventIds: string[] }) => {
        for (const id of eventIds) seen.add(id)
        await delay(answerAfterMs)
        return {}
      }
      const same = first === undefined ? {} : { identity: first.identityOf('delivery') }
      const port = first?.server.port ?? 0
      const started = await startInbox(handler, { host, port, drainMs, ...same })
      first ??= started
      closers.push(() => started.server.close())
      return { host, seen, close: () => started.server.close() }
    },
  }
}

function clientOf(started: Started, url: string, resolve?: Resolve, ttlMs = 100) {
  const undici = createDispatcher(url, { ttlMs, ...(resolve === undefined ? {} : { resolve }) })
  const pool = { undici, close: () => undici.close() }
  closers.push(() => pool.close())
  const identity = started.identityOf('payments')
  const client = createRpcClient(InboxService, { url, audience: 'delivery', identity, pool })
  return (id: string) => client.seen({ eventIds: [id] })
}

/** Calls without a pause, from several callers at once, until it is stopped. */
function load(call: (id: string) => Promise<unknown>) {
  const failed: string[] = []
  let made = 0
  const stopping = new AbortController()
  // Of a test that failed, too: calls that all fail at once would leave no time for anything else.
  closers.push(() => stopping.abort())
  const running = Array.from({ length: callers }, async () => {
    while (!stopping.signal.aborted) {
      const id = newId()
      made += 1
      await call(id).catch(() => failed.push(id))
    }
  })
  return {
    failed,
    /** Waits until `calls` more calls were made. */
    async more(calls: number) {
      const before = made
      await eventually(() => expect(made).toBeGreaterThanOrEqual(before + calls))
    },
    async stop() {
      stopping.abort()
      await Promise.all(running)
    },
  }
}

it('no call fails while an instance stops in order, and it gets no new ones', async () => {
  // Long enough for every caller to see it, even on a slow machine.
  const inbox = service(2_000)
  await inbox.start(hosts[0])
  const leaving = await inbox.start(hosts[1])
  await inbox.start(hosts[2])
  let listed: string[] = [...hosts]
  const call = clientOf(inbox.first, `http://inbox.test:${inbox.port}`, async () => listed)
  const calls = load(call)
  await calls.more(300)
  const before = leaving.seen.size
  const closed = leaving.close()
  await calls.more(100)
  listed = listed.filter((host) => host !== leaving.host)
  await closed
  await calls.more(300)
  await calls.stop()
  expect(calls.failed).toEqual([])
  expect(before).toBeGreaterThan(50)
  // What was on its way, and not more than once on each connection.
  expect(leaving.seen.size - before).toBeLessThanOrEqual(callers)
})

it('a killed instance costs at most the calls in flight, and none of them is made again', async () => {
  const inbox = service()
  const survivors = [await inbox.start(hosts[0]), await inbox.start(hosts[1])]
  const script = join(import.meta.dirname, '../../testing/rpc/delivery-instance.ts')
  // It answers none, so that some are in flight when it is killed.
  const child = fork(script, [inbox.first.dir, hosts[2], String(inbox.port), '60000'])
  closers.push(() => child.kill('SIGKILL'))
  await once(child, 'message')
  const call = clientOf(inbox.first, `http://inbox.test:${inbox.port}`, async () => [...hosts])
  const called = once(child, 'message')
  const calls = load(call)
  await calls.more(100)
  await called
  child.kill('SIGKILL')
  await once(child, 'exit')
  await calls.more(300)
  const { length } = calls.failed
  await calls.more(200)
  await calls.stop()
  expect(calls.failed).toHaveLength(length)
  expect(length).toBeGreaterThan(0)
  expect(length).toBeLessThanOrEqual(callers)
  const repeated = calls.failed.filter((id) => survivors.some(({ seen }) => seen.has(id)))
  expect(repeated).toEqual([])
})

it('a new instance gets its share within the time that an answer of the name server is used', async () => {
  const inbox = service()
  await inbox.start(hosts[0])
  await inbox.start(hosts[1])
  let listed: string[] = hosts.slice(0, 2)
  const call = clientOf(inbox.first, `http://inbox.test:${inbox.port}`, async () => listed, 200)
  const calls = load(call)
  await calls.more(100)
  const added = await inbox.start(hosts[2])
  listed = [...hosts]
  await delay(200 * 1.2 + 10)
  const before = added.seen.size
  await calls.more(300)
  await calls.stop()
  expect(calls.failed).toEqual([])
  expect(added.seen.size - before).toBeGreaterThan(60)
})

it('a call that could not be sent goes to another instance', async () => {
  const inbox = service()
  const alive = await inbox.start(hosts[0])
  const nobody = `http://127.0.0.3:${inbox.port}`
  const call = clientOf(inbox.first, `${nobody},http://127.0.0.2:${inbox.port}`)
  const ids = Array.from({ length: 50 }, newId)
  await Promise.all(ids.map(call))
  expect(alive.seen).toEqual(new Set(ids))
})

it('a call finds the only instance where it has moved to', async () => {
  const inbox = service()
  const old = await inbox.start(hosts[0])
  let listed: string[] = [hosts[0]]
  const call = clientOf(inbox.first, `http://inbox.test:${inbox.port}`, async () => listed, 60_000)
  await call(newId())
  const moved = await inbox.start(hosts[1])
  listed = [hosts[1]]
  await old.close()
  // The answer of a moment ago is believed for a moment longer, and its calls fail.
  await eventually(() => call(newId()))
  expect([old.seen.size, moved.seen.size]).toEqual([1, 1])
})

it('a name server that is away is no reason to forget the instances', async () => {
  const inbox = service()
  await inbox.start(hosts[0])
  let isAway = false
  const resolve = async () => {
    if (isAway) throw new Error('no answer')
    return [hosts[0]]
  }
  const call = clientOf(inbox.first, `http://inbox.test:${inbox.port}`, resolve, 1)
  await call(newId())
  isAway = true
  for (let made = 0; made < 5; made += 1) await call(newId())
  const strangers = clientOf(inbox.first, `http://nobody.test:${inbox.port}`, resolve)
  await expect(strangers(newId())).rejects.toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
})
