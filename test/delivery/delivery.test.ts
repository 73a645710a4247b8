// Shows on a real database and real receivers how pushes are sent, repeated and given up.
import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { replayDelivery } from '../../services/delivery/store/operate-store.ts'
import { eventually } from '../support/eventually.ts'
import { startHarness } from './harness.ts'
import { type Received, type Receiver, type Responder, startReceiver, status } from './receiver.ts'

let harness: Awaited<ReturnType<typeof startHarness>>
const receivers: Receiver[] = []

async function receiver(answer?: Responder): Promise<Receiver> {
  const started = await startReceiver(answer)
  receivers.push(started)
  return started
}

beforeAll(async () => {
  harness = await startHarness()
})
afterEach(async () => {
  await harness.reset()
  await Promise.all(receivers.splice(0).map((one) => one.close()))
})
afterAll(() => harness.drop())

/** Runs a delivery through its whole schedule, moving the clock past each pause. */
async function throughSchedule(id: string, attempts: number): Promise<void> {
  for (let begun = 1; begun <= attempts; begun += 1) {
    await eventually(async () => {
      const row = await harness.delivery(id)
      return row !== undefined && row.attempts >= begun && row.state !== 'sending'
    })
    harness.clock.advance(3_600_000)
  }
}

function identifiersIn(headers: Received['headers']) {
  const names = ['delivery-id', 'delivery-attempt', 'event-id', 'payment-details-id']
  return names.map((name) => headers[`pw-${name}`])
}

describe('a push', () => {
  it('a push that gets a 2xx response is delivered, once', async () => {
    const to = await receiver(status(204))
    harness.worker()
    const [id = ''] = await harness.push({
      url: `${to.url}/hook?x=1`,
      body: Buffer.from('{"a":1}'),
    })
    await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
    expect(to.requests).toHaveLength(1)
    expect(to.requests[0]).toMatchObject({ path: '/hook?x=1', body: '{"a":1}' })
    expect(await harness.attempts(id)).toMatchObject([
      { number: 1, outcome: 'delivered', status: 204, peerAddress: '127.0.0.1', error: null },
    ])
  })

  it('a push carries only the headers that are documented', async () => {
    const to = await receiver()
    harness.worker()
    const eventId = randomUUID()
    const [id = ''] = await harness.push({ url: to.url, eventId })
    await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
    expect(to.requests[0]?.headers).toEqual({
      host: `127.0.0.1:${to.port}`,
      connection: 'keep-alive',
      'content-type': 'application/json',
      'content-length': '34',
      'user-agent': 'Payweave/0.0.0-test',
      'accept-encoding': 'identity',
      'pw-delivery-id': id,
      'pw-delivery-attempt': '1',
      'pw-event-id': eventId,
      'pw-payment-details-id': 'payment-1',
    })
  })

  it('a push has the same ids on each attempt, and attempts that are counted on over rounds', async () => {
    const to = await receiver(status(500))
    harness.worker({ scheduleS: [1] })
    const eventId = randomUUID()
    const [id = ''] = await harness.push({ url: to.url, eventId, kind: 'callback' })
    await throughSchedule(id, 2)
    await eventually(async () => expect(await harness.state(id)).toBe('exhausted'))
    to.answer(status(200))
    await replayDelivery(harness.db, harness.projectId, id, randomUUID())
    await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
    expect(to.requests.map(({ headers }) => identifiersIn(headers))).toEqual(
      ['1', '2', '3'].map((attempt) => [id, attempt, eventId, 'payment-1']),
    )
  })

  it('a push to different URLs about one event has one event id and a delivery id each', async () => {
    const to = await receiver()
    harness.worker()
    const eventId = randomUUID()
    const ids = await harness.push(
      { url: `${to.url}/notify`, eventId },
      { url: `${to.url}/callback`, eventId, kind: 'callback' },
    )
    await eventually(() => expect(to.requests.length).toBe(2))
    const seen = to.requests.map(({ headers }) => identifiersIn(headers))
    expect(new Set(seen.map(([deliveryId]) => deliveryId))).toEqual(new Set(ids))
    expect(seen.map(([, , event]) => event)).toEqual([eventId, eventId])
  })

  it('a failed push is retried with the same bytes until it is accepted', async () => {
    let answers = 0
    const to = await receiver((request, response) => {
      answers += 1
      status(answers < 3 ? 500 : 200)(request, response)
    })
    harness.worker()
    const [id = ''] = await harness.push({ url: to.url, body: Buffer.from('{"amount":10.00}') })
    await throughSchedule(id, 3)
    await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
    expect(to.requests.map(({ body }) => body)).toEqual(Array(3).fill('{"amount":10.00}'))
    expect(await harness.attempts(id)).toMatchObject([
      { number: 1, outcome: 'refused', status: 500, error: 'http_500' },
      { number: 2, outcome: 'refused', status: 500 },
      { number: 3, outcome: 'delivered', status: 200 },
    ])
  })

  it('a push waits as long as the schedule says', async () => {
    const to = await receiver(status(500))
    harness.worker({ scheduleS: [100, 200] })
    const [id = ''] = await harness.push({ url: to.url })
    await eventually(
      async () => (await harness.delivery(id))?.state === 'pending' && to.requests.length === 1,
    )
    const [attempt] = await harness.attempts(id)
    const nextMs = attempt?.nextAttemptAt?.getTime() ?? 0
    expect(nextMs - (attempt?.startedAt.getTime() ?? 0)).toBeGreaterThanOrEqual(100_000)
    expect(nextMs - harness.clock.now().getTime()).toBeLessThanOrEqual(100_000)
    harness.clock.advance(90_000)
    const other = await receiver()
    await harness.push({ url: other.url })
    await eventually(() => expect(other.requests).toHaveLength(1))
    expect(to.requests).toHaveLength(1)
    harness.clock.advance(10_000)
    await eventually(() => expect(to.requests.length).toBe(2))
  })

  it('a push that fails once more than the schedule has pauses is exhausted', async () => {
    const to = await receiver(status(503))
    harness.worker({ scheduleS: [1, 2, 5] })
    const [id = ''] = await harness.push({ url: to.url })
    await throughSchedule(id, 4)
    expect(await harness.delivery(id)).toMatchObject({
      state: 'exhausted',
      attempts: 4,
      nextAttemptAt: null,
    })
    expect(to.requests).toHaveLength(4)
  })

  it.each([301, 302, 303, 307, 308])(
    'a push that is redirected by %d has failed and follows nothing',
    async (code) => {
      const elsewhere = await receiver()
      const to = await receiver(status(code, { location: `${elsewhere.url}/` }))
      harness.worker({ scheduleS: [] })
      const [id = ''] = await harness.push({ url: to.url })
      await eventually(async () => expect(await harness.state(id)).toBe('exhausted'))
      expect(await harness.attempts(id)).toMatchObject([{ outcome: 'refused', status: code }])
      expect(elsewhere.connections()).toBe(0)
    },
  )

  it.each([
    ['5', 5],
    ['99999', 3_600],
    ['garbage', 2],
    ['-3', 2],
    ['0', 2],
    ['in a minute, as a date,', 60],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 3_600],
  ])(
    'a push that is answered with 429 and Retry-After %s waits about %d s',
    async (header, expectedS) => {
      const to = await receiver((request, response) => {
        const inAMinute = new Date(Date.now() + 60_000).toUTCString()
        const value = header.startsWith('in a minute') ? inAMinute : header
        status(429, { 'retry-after': value })(request, response)
      })
      harness.worker({ scheduleS: [2, 2] })
      const [id = ''] = await harness.push({ url: to.url })
      // The second attempt may be under way already.
      const first = async () => (await harness.attempts(id))[0]
      await eventually(async () => (await first())?.nextAttemptAt != null)
      const attempt = await first()
      const nextS = (attempt?.nextAttemptAt?.getTime() ?? 0) / 1e3
      const startedS = (attempt?.startedAt.getTime() ?? 0) / 1e3
      expect(nextS - startedS).toBeGreaterThan(expectedS * 0.8)
      expect(nextS - harness.clock.now().getTime() / 1e3).toBeLessThanOrEqual(expectedS + 0.5)
    },
  )

  it('a push that cannot connect has failed and is retried', async () => {
    const to = await receiver()
    await to.close()
    harness.worker({ scheduleS: [3_600] })
    const [id = ''] = await harness.push({ url: to.url })
    await eventually(
      async () =>
        (await harness.delivery(id))?.state === 'pending' &&
        (await harness.attempts(id)).some((a) => a.outcome !== 'started'),
    )
    expect(await harness.attempts(id)).toMatchObject([
      { outcome: 'connection_failed', status: null, error: 'econnrefused' },
    ])
  })

  it('a push reuses the connection of the one before', async () => {
    const to = await receiver()
    harness.worker()
    for (let n = 1; n <= 3; n += 1) {
      const [id = ''] = await harness.push({ url: to.url })
      await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
      expect(to.requests).toHaveLength(n)
    }
    expect(to.connections()).toBe(1)
  })

  it('a push is stored once, however often its event is delivered', async () => {
    const to = await receiver()
    const [id = ''] = await harness.push({ url: to.url })
    await harness.push({ url: to.url, deliveryId: id, body: Buffer.from('other') })
    harness.worker()
    await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
    await harness.push({ url: to.url, body: Buffer.from('later') })
    await eventually(() => expect(to.requests.at(-1)?.body).toBe('later'))
    const bodies = to.requests.map(({ body }) => body)
    expect(bodies).toEqual(['{"event_type":"payment_initiated"}', 'later'])
  })
})

describe('an answer', () => {
  it('a response whose headers do not arrive in time is a time-out', async () => {
    const to = await receiver(() => undefined)
    harness.worker({ timeoutMs: 200, scheduleS: [] })
    const [id = ''] = await harness.push({ url: to.url })
    await eventually(async () => expect(await harness.state(id)).toBe('exhausted'))
    expect(await harness.attempts(id)).toMatchObject([{ outcome: 'timed_out', error: 'timeout' }])
  })

  it('a response whose headers drip without end is a time-out', async () => {
    const to = await receiver((_request, response) => {
      const socket = response.socket
      socket?.write('HTTP/1.1 200 OK\r\n')
      const timer = setInterval(() => socket?.write('x-a: b\r\n'), 20)
      socket?.on('close', () => clearInterval(timer))
    })
    harness.worker({ timeoutMs: 300, scheduleS: [] })
    const [id = ''] = await harness.push({ url: to.url })
    await eventually(async () => expect(await harness.state(id)).toBe('exhausted'))
    expect(await harness.attempts(id)).toMatchObject([{ outcome: 'timed_out' }])
  })

  it('a response whose body drips counts by its status and is dropped in time', async () => {
    let dropsOfLast = 0
    const to = await receiver((_request, response) => {
      response.writeHead(200)
      dropsOfLast = 0
      const timer = setInterval(() => {
        response.write('.')
        dropsOfLast += 1
      }, 20)
      response.on('close', () => clearInterval(timer))
    })
    harness.worker({ timeoutMs: 300 })
    const [id = ''] = await harness.push({ url: to.url })
    await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
    // A timer that is late counts once, so the time that this machine stalls is not in it.
    expect(dropsOfLast).toBeLessThan(200)
  })

  it('a response with an endless body is read up to 16 KiB and counts by its status', async () => {
    let sent = 0
    const to = await receiver((_request, response) => {
      response.writeHead(500)
      const write = () => {
        sent += 65_536
        if (!response.destroyed && response.write(Buffer.alloc(65_536, 'x'))) setImmediate(write)
        else response.once('drain', write)
      }
      write()
    })
    harness.worker({ scheduleS: [] })
    const [id = ''] = await harness.push({ url: to.url })
    await eventually(async () => expect(await harness.state(id)).toBe('exhausted'))
    expect(await harness.attempts(id)).toMatchObject([{ outcome: 'refused', status: 500 }])
    expect(sent).toBeLessThan(50_000_000)
  })

  it('a response with headers beyond 16 KiB is a failure', async () => {
    const to = await receiver(status(200, { 'x-big': 'a'.repeat(20_000) }))
    harness.worker({ scheduleS: [] })
    const [id = ''] = await harness.push({ url: to.url })
    await eventually(async () => expect(await harness.state(id)).toBe('exhausted'))
    expect(await harness.attempts(id)).toMatchObject([
      { outcome: 'connection_failed', error: 'und_err_headers_overflow' },
    ])
  })

  it('a response that is cut off before its headers is a failure', async () => {
    const to = await receiver((_request, response) => response.socket?.destroy())
    harness.worker({ scheduleS: [] })
    const [id = ''] = await harness.push({ url: to.url })
    await eventually(async () => expect(await harness.state(id)).toBe('exhausted'))
    expect(await harness.attempts(id)).toMatchObject([{ outcome: 'connection_failed' }])
    expect(to.requests).toHaveLength(1)
  })

  it('a response that is a gzip bomb is never unpacked, and counts by its status', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1_048_576))
    const to = await receiver((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb)
    })
    harness.worker()
    const before = process.memoryUsage().rss
    const [id = ''] = await harness.push({ url: to.url })
    await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
    const [attempt] = await harness.attempts(id)
    expect(attempt?.answer).toEqual(bomb.subarray(0, 4_096))
    expect(process.memoryUsage().rss - before).toBeLessThan(32 * 1_048_576)
  })

  it('a response whose connection is reset after the whole body counts by its status', async () => {
    const to = await receiver((_request, response) => {
      response.writeHead(200, { 'content-length': '2' }).end('ok', () => {
        response.socket?.resetAndDestroy()
      })
    })
    harness.worker()
    const [first = ''] = await harness.push({ url: to.url })
    await eventually(async () => expect(await harness.state(first)).toBe('delivered'))
    const [second = ''] = await harness.push({ url: to.url })
    await eventually(async () => expect(await harness.state(second)).toBe('delivered'))
    expect(to.requests).toHaveLength(2)
  })

  it('a response whose connection is reset in the middle of the body counts by its status', async () => {
    const to = await receiver((_request, response) => {
      response.writeHead(503, { 'content-length': '1000' })
      response.write('half', () => response.socket?.resetAndDestroy())
    })
    harness.worker({ scheduleS: [] })
    const [id = ''] = await harness.push({ url: to.url })
    await eventually(async () => expect(await harness.state(id)).toBe('exhausted'))
    expect(await harness.attempts(id)).toMatchObject([{ outcome: 'refused', status: 503 }])
  })

  it('a 410 ends all pending and later pushes of the same payment and URL, and no others', async () => {
    const to = await receiver(status(500))
    harness.worker({ scheduleS: [3_600] })
    const url = `${to.url}/a`
    const [waiting = ''] = await harness.push({ url })
    await eventually(
      async () =>
        (await harness.delivery(waiting))?.state === 'pending' && to.requests.length === 1,
    )
    to.answer(status(410))
    const [refused = ''] = await harness.push({ url })
    await eventually(async () => expect(await harness.state(refused)).toBe('gone'))
    expect(await harness.state(waiting)).toBe('gone')

    to.answer(status(200))
    const [later = '', otherUrl = '', otherPayment = ''] = await harness.push(
      { url },
      { url: `${to.url}/b` },
      { url, subjectId: 'payment-2' },
    )
    expect(await harness.state(later)).toBe('gone')
    await eventually(async () => expect(await harness.state(otherUrl)).toBe('delivered'))
    await eventually(async () => expect(await harness.state(otherPayment)).toBe('delivered'))
    expect(to.requests.filter(({ path }) => path === '/a')).toHaveLength(3)
  })
})
