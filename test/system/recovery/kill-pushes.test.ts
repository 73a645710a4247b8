// A healthy receiver gets pushes again after a fault before a lease from before the fault expires: the lease was released. The seconds
// are reported, not asserted; KILL_PUSH_ROUNDS sets how many rounds run.
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Receiver, startReceiver, status } from '../../delivery/receiver.ts'
import { eventually } from '../../support/eventually.ts'
import { freezeFamily } from '../../support/freeze.ts'
import { type Mesh, startMesh } from '../../support/mesh.ts'
import { type Stopwatch, startStopwatch } from '../../support/stopwatch.ts'
import { type Merchant, merchant, order, payer } from '../harness.ts'

const rounds = Number(process.env['KILL_PUSH_ROUNDS'] ?? '1')
/** With it a lease is valid for 130 s, longer than any recovery here takes. */
const deliveryTimeoutS = 60
const frozenMs = 20_000
/** A system that was killed is as long in starting as one that is new. */
const timeoutMs = rounds * 240_000
const repeatedWithinMs = 90_000
const tradePauseMs = 250
const answerAfterMs = 200
const maxCrashes = 5

let mesh: Mesh
let shop: Merchant
let server: Receiver

beforeAll(async () => {
  ;[mesh, server] = await Promise.all([
    startMesh({ name: 'kill-pushes', settings: { DELIVERY_TIMEOUT_S: String(deliveryTimeoutS) } }),
    startReceiver(),
  ])
  shop = merchant(mesh)
})
afterAll(async () => {
  await server.close()
  await mesh.remove()
})

type Figures = { fault: string; firstMs: number; repeatedMs: number }
type Lease = { id: string; token: string; until: string }

const figures: Figures[] = []

/** Leases of the pushes that are in flight, or were when their process or PostgreSQL ended. */
const leases = () =>
  mesh.rows<Lease>(
    "select delivery_id as id, lease_token as token, lease_until::text as until from delivery.delivery where state = 'sending'",
  )

/** Those of the leases that are still held. */
const stillHeld = (before: Lease[]) =>
  mesh.rows(
    `select delivery_id from delivery.delivery join unnest($1::uuid[], $2::uuid[]) as held (id, token)
       on delivery_id = id and lease_token = token where state = 'sending'`,
    [before.map(({ id }) => id), before.map(({ token }) => token)],
  )

/** Those of the leases that have expired by now. */
const expired = (before: Lease[]) =>
  mesh.rows('select until from unnest($1::timestamptz[]) until where until <= clock_timestamp()', [
    before.map(({ until }) => until),
  ])

/** Payments whose pushes go to two URLs of one receiver, until it is over; what fails is left. */
async function trade(isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await shop.request(newOrder()).catch(() => undefined)
    await sleep(tradePauseMs)
  }
}

const newOrder = () =>
  order({
    payers: [payer(1)],
    urls: { notify: `${server.url}/notify`, callback: `${server.url}/callback` },
  })

/** URLs that got a push. */
const paths = () => new Set(server.requests.map(({ path }) => path))
const idOf = (request: Receiver['requests'][number]) => String(request.headers['pw-delivery-id'])

/** Payments while the receiver answers nothing, until pushes to both URLs are in flight; returns the answers that it holds. */
async function fillLanes(): Promise<ServerResponse[]> {
  const held: ServerResponse[] = []
  server.requests.length = 0
  server.answer((_request, response) => void held.push(response))
  let isFull = false
  const trader = trade(() => isFull)
  await eventually(paths, (now) => expect(now.size).toBe(2))
  isFull = true
  await trader
  return held
}

/** Waits until the process of deliveries that is not `before` is ready. */
async function deliveryIsReady(before: number): Promise<void> {
  await eventually(async () => {
    const { delivery } = mesh.processes()
    if (delivery === undefined || delivery.pid === before) return false
    return (await fetch(`http://127.0.0.1:${delivery.ports.at(-1)}/readyz`)).ok
  }, repeatedWithinMs)
}

/**
 * Waits for the first push to each URL and for the repeats of all that were in flight (none is `missing`), while every lease from
 * before the fault is still valid; measures both from the recovery.
 */
async function measure(
  fault: string,
  watch: Stopwatch,
  before: Lease[],
  missing: () => unknown[] | Promise<unknown[]>,
): Promise<void> {
  await eventually(paths, (now) => expect(now.size).toBe(2), repeatedWithinMs)
  const firstMs = watch.elapsedMs()
  await eventually(missing, (now) => expect(now).toEqual([]), repeatedWithinMs)
  figures.push({ fault, firstMs, repeatedMs: watch.elapsedMs() })
  expect(await expired(before), `${fault}: leases that expired before the pushes`).toEqual([])
}

function report(): void {
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
  const lines = figures.map(
    ({ fault, firstMs, repeatedMs }) =>
      `${fault}: both URLs pushed to ${seconds(firstMs)} after recovery, all in flight repeated ${seconds(repeatedMs)}`,
  )
  process.stdout.write(`\n${lines.join('\n')}\n`)
}

/** Breaks the system and lets it recover, with pushes in flight that nobody answers. */
async function breakAndMeasure(fault: string, breakIt: () => Promise<void>): Promise<void> {
  await fillLanes()
  const orphans = server.requests.map(idOf)
  const held = await leases()
  expect(held).not.toEqual([])
  const before = mesh.pid('delivery')
  await breakIt()
  server.requests.length = 0
  server.answer(status(200))
  await deliveryIsReady(before)
  await measure(fault, startStopwatch(), held, () => {
    const seen = new Set(server.requests.map(idOf))
    return orphans.filter((id) => !seen.has(id))
  })
}

it(
  'a healthy receiver gets pushes after each fault before the leases from before it expire',
  async () => {
    for (let round = 0; round < rounds; round += 1) {
      await breakAndMeasure('delivery killed', async () => {
        process.kill(mesh.pid('delivery'), 'SIGKILL')
      })
      let started = Promise.resolve()
      await breakAndMeasure('whole system killed', async () => {
        await mesh.kill()
        started = mesh.start()
      })
      await started
      await freezeDatabase()
      await crashDatabase()
    }
    expect(figures).toHaveLength(4 * rounds)
    report()
  },
  timeoutMs,
)

/**
 * Payments flow until PostgreSQL stands still, and again from the moment that it goes on. The receiver takes its time, so that
 * pushes are due when the server executes what reached it meanwhile.
 */
async function freezeDatabase(): Promise<void> {
  let isOver = false
  server.answer((_request, response) => void setTimeout(() => response.end(), answerAfterMs))
  const traders = Array.from({ length: 4 }, () => trade(() => isOver))
  server.requests.length = 0
  await eventually(() => expect(server.requests.length).toBeGreaterThan(20))
  const held = await eventually(leases, (now) => expect(now).not.toEqual([]))
  const goOn = await freezeFamily(mesh.pid('postgres'))
  await sleep(frozenMs)
  server.requests.length = 0
  goOn()
  const watch = startStopwatch()
  held.push(...(await leases()))
  await measure('PostgreSQL frozen', watch, held, () => stillHeld(held))
  isOver = true
  await Promise.all(traders)
}

/**
 * Kills PostgreSQL right after the last pushes have ended, when their ends are committed and not on disk, while the processes live on.
 * No delivery, also of what it has lost, stays under a lease from before.
 */
async function crashDatabase(): Promise<void> {
  await flushRarely()
  let lost: Lease[] = []
  // Another commit may have written the ends to disk.
  for (let tries = 0; lost.length === 0 && tries < maxCrashes; tries += 1) {
    lost = await crashOnce()
  }
  expect(lost).not.toEqual([])
  server.requests.length = 0
  const watch = startStopwatch()
  let isOver = false
  const trader = trade(() => isOver)
  await measure('PostgreSQL killed', watch, lost, () => stillHeld(lost))
  isOver = true
  await trader
}

/** Returns the leases that are held again after a crash. */
async function crashOnce(): Promise<Lease[]> {
  const held = await fillLanes()
  server.answer(status(200))
  for (const response of held) response.end()
  const open = "select delivery_id from delivery.delivery where state in ('pending', 'sending')"
  await eventually(
    () => mesh.rows(open),
    (rows) => expect(rows).toEqual([]),
    repeatedWithinMs,
  )
  const before = mesh.pid('postgres')
  process.kill(before, 'SIGQUIT')
  await eventually(() => mesh.pid('postgres') !== before, repeatedWithinMs)
  const lost = await eventually(leases, repeatedWithinMs)
  await deliveryIsReady(0)
  return lost
}

/** Has PostgreSQL write commits that nobody waits for ten seconds later, unless another commit does. */
async function flushRarely(): Promise<void> {
  const client = new Client(mesh.databaseUrl())
  await client.connect()
  await client.query("alter system set wal_writer_delay = '10s'")
  await client.query('select pg_reload_conf()')
  await client.end()
}
