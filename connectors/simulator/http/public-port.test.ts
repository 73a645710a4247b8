// Tests the limits of the public port: excessive, slow or concurrent input is refused or the connection closed.
import { once } from 'node:events'
import net from 'node:net'
import { Readable } from 'node:stream'
import { afterEach, describe, expect, it } from 'vitest'
import { silentLog } from '../../../test/support/database.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { openPublicPort, type PublicPort, publicPortLimits } from './public-port.ts'

type Limits = Partial<typeof publicPortLimits>

const opened: PublicPort[] = []
const sockets: net.Socket[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await Promise.all(opened.splice(0).map((port) => port.close()))
})

/** A port with two routes whose answers wait for `answer`, on one of which requests yield their slots, and one without end. */
async function start(limits: Limits, publicUrl = 'http://simulator.test') {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
  let taken = 0
  const port = await openPublicPort({
    host: '127.0.0.1',
    port: 0,
    publicUrl,
    log: silentLog,
    limits: { ...publicPortLimits, stopGraceMs: 100, ...limits },
    paths: [{ pattern: /^\/(work|wait)$/, allow: 'POST' }],
    async routes(app, admission) {
      app.removeAllContentTypeParsers()
      app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) =>
        done(null, body),
      )
      app.get('/endless', (_request, reply) => reply.send(Readable.from(endless())))
      app.post('/work', async () => {
        taken += 1
        await answered
        return {}
      })
      app.post('/wait', async (request) => {
        taken += 1
        admission.yieldSlot(request.raw)
        await answered
        return {}
      })
    },
  })
  opened.push(port)
  return { port: port.port, answer, close: () => port.close(), taken: () => taken }
}

function* endless(): Generator<string> {
  for (;;) yield 'x'.repeat(64 * 1024)
}

/** A connection; `heard` has all that came back, and `closed` resolves with it at the end. */
function connect(port: number) {
  const socket = net.connect({ port, host: '127.0.0.1' })
  sockets.push(socket)
  let heard = ''
  socket.on('data', (chunk) => {
    heard += chunk.toString('latin1')
  })
  socket.on('error', () => undefined)
  return {
    write: (text: string) => socket.write(text),
    heard: () => heard,
    closed: once(socket, 'close').then(() => heard),
    /** Resolves with the received bytes once they hold `count` responses. */
    answers: (count: number) =>
      eventually(() => heard.split('HTTP/1.1 ').length - 1 >= count && heard),
    end: () => socket.destroy(),
  }
}

const request = (path: string, header: string) =>
  `POST ${path} HTTP/1.1\r\nhost: simulator\r\n${header}\r\n\r\n`
const post = (path: string, length = 0) => request(path, `content-length: ${length}`)

describe('requests in flight', () => {
  it('requests in flight above their number are answered 503 and may come again', async () => {
    const { port, answer, taken } = await start({ maxRequests: 2 })
    const busy = [connect(port), connect(port)]
    for (const one of busy) one.write(post('/work'))
    await eventually(() => expect(taken()).toBe(2))
    const third = connect(port)
    third.write(post('/work'))
    expect(await third.closed).toMatch(/^HTTP\/1\.1 503 [^]*retry-after: 1\r\n/)
    answer()
    for (const one of busy) expect(await one.answers(1)).toMatch(/^HTTP\/1\.1 200 /)
    const fourth = connect(port)
    fourth.write(post('/work'))
    expect(await fourth.answers(1)).toMatch(/^HTTP\/1\.1 200 /)
  })

  it('free their slots when their connection goes', async () => {
    const { port, taken } = await start({ maxRequests: 1 })
    const gone = connect(port)
    gone.write(post('/work'))
    await eventually(() => expect(taken()).toBe(1))
    gone.end()
    await eventually(async () => {
      const next = connect(port)
      next.write(post('/wait'))
      await eventually(() => taken() === 2 || next.heard() !== '')
      return taken() === 2
    })
    expect(taken()).toBe(2)
  })

  it('requests in flight hold no slot while they only wait', async () => {
    const { port, taken } = await start({ maxRequests: 1 })
    for (const count of [1, 2, 3]) {
      connect(port).write(post('/wait'))
      await eventually(() => expect(taken()).toBe(count))
    }
    expect(taken()).toBe(3)
  })

  it('requests in flight have a budget for the bodies that they announce, and for chunks as much as a body may be', async () => {
    const { port, taken } = await start({ maxBodyBytes: 100, maxBodiesBytes: 250 })
    for (const length of ['content-length: 100', 'transfer-encoding: chunked']) {
      const unfinished = connect(port)
      unfinished.write(request('/work', `${length}\r\nexpect: 100-continue`))
      await eventually(() => unfinished.heard().startsWith('HTTP/1.1 100 '))
    }
    const large = connect(port)
    large.write(post('/wait', 51))
    expect(await large.closed).toMatch(/^HTTP\/1\.1 503 /)
    connect(port).write(`${post('/wait', 50)}${'x'.repeat(50)}`)
    await eventually(() => expect(taken()).toBe(1))
  })

  it('requests in flight that only wait still count with their bodies', async () => {
    const { port, answer, taken } = await start({ maxBodyBytes: 100, maxBodiesBytes: 250 })
    const whole = `${post('/wait', 100)}${'x'.repeat(100)}`
    const waiting = [connect(port), connect(port)]
    for (const one of waiting) one.write(whole)
    await eventually(() => expect(taken()).toBe(2))
    const third = connect(port)
    third.write(whole)
    expect(await third.closed).toMatch(/^HTTP\/1\.1 503 /)
    answer()
    for (const one of waiting) expect(await one.answers(1)).toMatch(/^HTTP\/1\.1 200 /)
    const fourth = connect(port)
    fourth.write(whole)
    expect(await fourth.answers(1)).toMatch(/^HTTP\/1\.1 200 /)
  })

  it('requests in flight on one connection are limited: a client that sends more without reading is disconnected', async () => {
    const { port, taken } = await start({ maxPipelined: 3 })
    const greedy = connect(port)
    greedy.write(post('/wait').repeat(100))
    expect(await greedy.closed).toBe('')
    expect(taken()).toBeLessThanOrEqual(3)
    const before = taken()
    connect(port).write(post('/wait').repeat(3))
    await eventually(() => expect(taken()).toBe(before + 3))
  })
})

describe('a connection', () => {
  it('a connection that does not finish its request in time is answered 408 and closed', async () => {
    const { port } = await start({ requestTimeoutMs: 50 })
    const [silent, slow] = [connect(port), connect(port)]
    slow.write(`${post('/work', 10)}x`)
    expect(await slow.closed).toMatch(/^HTTP\/1\.1 408 /)
    expect(await silent.closed).toMatch(/^(HTTP\/1\.1 408 |$)/)
  })

  it('a connection is refused headers and bodies that are too large', async () => {
    const { port } = await start({ maxHeaderBytes: 1_000, maxBodyBytes: 100 })
    const header = connect(port)
    header.write(`GET / HTTP/1.1\r\nhost: simulator\r\nx: ${'x'.repeat(1_000)}\r\n\r\n`)
    expect(await header.closed).toMatch(/^HTTP\/1\.1 431 /)
    const body = connect(port)
    body.write(post('/work', 101))
    expect(await body.closed).toMatch(/^HTTP\/1\.1 413 /)
  })

  it('a connection that does not read its response is closed', async () => {
    const { port } = await start({ stalledMs: 100, maxRequests: 1 })
    const stalled = net.connect({ port, host: '127.0.0.1' })
    sockets.push(stalled)
    stalled.on('error', () => undefined)
    stalled.write('GET /endless HTTP/1.1\r\nhost: simulator\r\n\r\n')
    await once(stalled, 'readable')
    // Its slot becomes free.
    await eventually(async () => {
      const next = connect(port)
      next.write(post('/nowhere'))
      const heard = await next.answers(1)
      next.end()
      return heard.startsWith('HTTP/1.1 404 ')
    })
    const closed = once(stalled, 'close')
    stalled.resume()
    await closed
    expect(stalled.destroyed).toBe(true)
  })

  it('a connection above the maximum number is dropped', async () => {
    const { port, taken } = await start({ maxConnections: 2 })
    for (const count of [1, 2]) {
      connect(port).write(post('/wait'))
      await eventually(() => expect(taken()).toBe(count))
    }
    expect(await connect(port).closed).toBe('')
  })

  it('a connection does not keep the port from closing', async () => {
    const { port, close, taken } = await start({})
    const stuck = connect(port)
    stuck.write(post('/wait'))
    await eventually(() => expect(taken()).toBe(1))
    await close()
    expect(await stuck.closed).toBe('')
  })
})

describe('what the port says of itself', () => {
  it('the public port sends Strict-Transport-Security only where browsers come by https', async () => {
    for (const [url, policy] of [
      ['https://simulator.test', 'max-age=31536000'],
      ['http://simulator.test', null],
    ] as const) {
      const { port } = await start({}, url)
      const { headers } = await fetch(`http://127.0.0.1:${port}/nowhere`)
      expect(headers.get('strict-transport-security')).toBe(policy)
    }
  })

  it('the public port answers a malformed path in JSON too', async () => {
    const { port } = await start({})
    const answer = await fetch(`http://127.0.0.1:${port}/work%ff`, { method: 'POST' })
    expect([answer.status, await answer.json()]).toEqual([
      400,
      { message: 'The path is malformed.' },
    ])
  })
})
