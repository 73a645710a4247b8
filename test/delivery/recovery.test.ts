// Shows what a backlog, a restarted database, a stop under load and the logs do to pushes.
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { deliveryMetrics } from '../../services/delivery/metrics.ts'
import type { Poster } from '../../services/delivery/ports/post.ts'
import { expireLeases } from '../../services/delivery/store/lease-store.ts'
import { startWorker } from '../../services/delivery/workers/worker.ts'
import { silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { ownBroker, ownPostgres, type TestServer } from '../support/servers.ts'
import { startHarness, unownedLeases } from './harness.ts'
import { bearer, type DeliveryProcess, startDeliveryProcess } from './process.ts'
import { type Receiver, startReceiver, status } from './receiver.ts'

let postgres: TestServer
let broker: TestServer
let harness: Awaited<ReturnType<typeof startHarness>>
let receiver: Receiver

beforeAll(async () => {
  // Both of its own: one is restarted, and a process that shares a consumer would take other tests' events.
  ;[postgres, broker] = await Promise.all([ownPostgres({ fsync: 'off' }), ownBroker()])
  process.env['TEST_DATABASE_URL'] = postgres.url
  harness = await startHarness()
  receiver = await startReceiver()
})
afterEach(async () => {
  await harness.reset()
  receiver.answer(status(200))
  receiver.requests.length = 0
})
afterAll(async () => {
  await receiver.close()
  await harness.drop()
  await Promise.all([postgres.remove(), broker.remove()])
})

// Their number: `npm run test:kill -- --due-pushes N`.
const pushCount = Number(process.env['DUE_PUSHES'] ?? '50000')
/** Generous, for a busy machine: a benchmark measures the speed. */
const sentWithinMs = Math.max(150_000, 3 * pushCount)
/** What a worker holds depends on its slots, not on what is due. */
const maxHeldBytes = 32 * 2 ** 20

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

function liveBytes(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

describe('pushes that are due at once', () => {
  it('all pushes that are due at once are sent once each, within the limits', {
    timeout: 1.2 * sentWithinMs,
  }, async () => {
    const origins = Array.from({ length: 50 }, (_, n) => `https://receiver-${n}.example`)
    await harness.push(...origins.map((url) => ({ url })))
    // In parts: one statement for all takes long on a busy machine.
    for (let copies = pushCount / origins.length - 1; copies > 0; copies -= 40) {
      await harness.asOwner(
        `insert into delivery.delivery (
           delivery_id, project_id, endpoint_id, event_id, kind, subject_id, url, body, state, attempts,
           failures, next_attempt_at, occurred_at, created_at
         )
         select gen_random_uuid(), project_id, endpoint_id, event_id, kind, subject_id, url, body,
           'pending', 1, 1, now() - interval '1 hour', occurred_at, now()
         from delivery.delivery cross join generate_series(1, ${Math.min(copies, 40)}) where attempts = 0`,
      )
    }
    await harness.asOwner('analyze delivery.delivery')
    let posts = 0
    let atOnce = 0
    let maxConcurrent = 0
    const quarter = Math.ceil(pushCount / 4)
    const before = liveBytes()
    let maxHeld = 0
    const poster: Poster = {
      async post() {
        posts += 1
        atOnce += 1
        maxConcurrent = Math.max(maxConcurrent, atOnce)
        if (posts % quarter === 0) maxHeld = Math.max(maxHeld, liveBytes() - before)
        await new Promise((resolve) => setImmediate(resolve))
        atOnce -= 1
        return { outcome: 'delivered', status: 200, totalMs: 1 }
      },
      close: () => Promise.resolve(),
    }
    const worker = startWorker({
      db: harness.db,
      leases: unownedLeases,
      poster,
      sign: () => Promise.reject(new Error('no push of this test is signed')),
      log: silentLog,
      metrics: deliveryMetrics({ metrics: new Registry(), db: harness.db }),
      scheduleS: [],
      breaker: { openS: 30, maxS: 900 },
      timeoutMs: 2_000,
    })
    try {
      await eventually(() => expect(posts).toBeGreaterThanOrEqual(pushCount), sentWithinMs)
    } finally {
      await worker.close()
    }
    expect(posts).toBe(pushCount)
    expect(maxConcurrent).toBeLessThanOrEqual(512)
    expect(maxHeld).toBeLessThan(maxHeldBytes)
    expect(await harness.count("state = 'delivered'")).toBe(pushCount)
  })
})

describe('a hostname that many projects share', () => {
  it.each([
    ['a limit that is given', { hostLimit: 5 }, 5],
    ['the limit of 32 that nobody has to give', {}, 32],
  ])(
    'a hostname that many projects share gets no more POSTs at once than %s, and all in the end',
    async (_which, changes, most) => {
      const held: ServerResponse[] = []
      receiver.answer((_request, response) => void held.push(response))
      const projects = Array.from({ length: 12 }, () => randomUUID())
      await harness.push(
        ...projects.flatMap((projectId) =>
          Array.from({ length: 8 }, () => ({ url: receiver.url, projectId })),
        ),
      )
      await harness.asOwner('update delivery.endpoint set limit_now = 16')
      harness.worker({ ...changes, timeoutMs: 15_000 })
      await eventually(() => expect(held.length).toBe(most))
      // The worker still claims for others, and no more for this one.
      const other = await startReceiver()
      await harness.push({ url: other.url.replace('127.0.0.1', 'localhost') })
      await eventually(() => expect(other.requests).toHaveLength(1))
      await other.close()
      expect(held).toHaveLength(most)
      receiver.answer(status(200))
      for (const response of held) response.end()
      await eventually(() => expect(receiver.requests.length).toBe(96))
    },
  )
})

describe('a delivery process', () => {
  const env = () => ({ DATABASE_URL: harness.database.url, NATS_URL: broker.url })
  let service: DeliveryProcess
  // Also after a failed test, no process is left running.
  afterEach(() => service.stop('SIGKILL'))

  it('a delivery process is ready without the broker, and sends due pushes', async () => {
    await harness.push({ url: receiver.url })
    service = await startDeliveryProcess({ ...env(), NATS_URL: 'nats://127.0.0.1:1' })
    await eventually(() => expect(receiver.requests.length).toBe(1))
    expect(await service.call('grpc.health.v1.Health/Check', {})).toEqual({ status: 'SERVING' })
  })

  it('a delivery process that is stopped under load ends within 25 s and leaves nothing leased', async () => {
    receiver.answer((_request, response) => void setTimeout(() => response.end(), 1_000))
    await harness.push(
      ...Array.from({ length: 300 }, (_, n) => ({
        url: receiver.url,
        projectId: `00000000-0000-4000-8000-${String(n % 100).padStart(12, '0')}`,
      })),
    )
    service = await startDeliveryProcess(env())
    await eventually(() => expect(receiver.requests.length).toBeGreaterThanOrEqual(20))
    const { code, tookMs } = await service.stop()
    expect(code).toBe(0)
    expect(tookMs).toBeLessThan(25_000)
    const sent = receiver.requests.length
    expect(await harness.count("state = 'delivered'")).toBe(sent)
    expect(await harness.count("state = 'sending'")).toBe(0)
    expect(await harness.count("state = 'pending' and attempts = 0")).toBe(300 - sent)
  })

  it('a delivery process exposes no secret in its log and metrics', async () => {
    receiver.answer((_request, response) => {
      response.writeHead(500, { 'x-canary': 'canary-header' }).end('canary-answer')
    })
    service = await startDeliveryProcess({
      ...env(),
      LOG_LEVEL: 'trace',
      DELIVERY_SCHEDULE_S: '1',
    })
    const [id = '', blocked = ''] = await harness.push(
      { url: `${receiver.url}/canary-path?token=canary-query`, body: Buffer.from('canary-body') },
      { url: 'https://canary-host.example:99/canary-path', subjectId: '+12025550101' },
    )
    const ended = new Set(['exhausted', 'blocked'])
    await eventually(async () => ended.has((await harness.state(id)) ?? ''))
    await eventually(async () => ended.has((await harness.state(blocked)) ?? ''))
    await service.call('payweave.delivery.v1.DeliveryService/GetDelivery', {
      projectId: harness.projectId,
      deliveryId: id,
    })
    const metrics = await (await fetch(`${service.adminUrl}/metrics`)).text()
    expect(metrics).toMatch(
      /payweave_delivery_egress_blocks_total\{cause="url",part="delivery"\} 1/,
    )
    await service.stop()
    expect(service.output()).toContain('delivery given up')
    for (const text of [service.output(), metrics]) {
      expect(text).not.toMatch(/canary-|12025550101/)
      expect(text).not.toContain(bearer)
    }
  })
})

describe('a restart of the database', () => {
  it('a restart of the database delays pushes and loses none', { timeout: 120_000 }, async () => {
    receiver.answer((_request, response) => void setTimeout(() => response.end(), 20))
    harness.worker()
    const bodies = Array.from({ length: 200 }, (_, n) => `{"n":${n}}`)
    await harness.push(...bodies.map((body) => ({ url: receiver.url, body: Buffer.from(body) })))
    await eventually(() => expect(receiver.requests.length).toBeGreaterThan(20))
    await postgres.stop()
    await postgres.start()
    harness.clock.advance(61_000)
    await eventually(async () => {
      await expireLeases(harness.db, 500)
      return (await harness.count("state = 'delivered'")) === 200
    })
    expect(new Set(receiver.requests.map(({ body }) => body))).toEqual(new Set(bodies))
  })
})
