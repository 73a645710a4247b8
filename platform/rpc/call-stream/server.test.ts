// Proves that calls which share one call stream end as calls over HTTP do, also when the stream fails.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { ServiceImpl } from '@connectrpc/connect'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import { afterEach, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { InboxService } from '#gen/payweave/events/v1/events_pb.js'
import { eventually } from '../../../test/support/eventually.ts'
import { dialCallStream, enveloped, requestBytes } from '../../testing/rpc/call-streams.ts'
import { bearerCredential, startInbox } from '../../testing/rpc/harness.ts'
import { oldService } from '../../testing/rpc/old-service.ts'
import { startProxy, untilStreamed } from '../../testing/rpc/tcp-proxy.ts'
import { bearerIdentity } from '../auth/identity.ts'
import { createRpcClient, createRpcPool } from '../client/client.ts'
import type { ServeRpcOptions } from '../server/server.ts'
import { maxStreamedBytes } from './messages.ts'

type Seen = ServiceImpl<typeof InboxService>['seen']

const closers: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

const echo: Seen = ({ eventIds }) => ({ known: eventIds.map((eventId) => ({ eventId, state: 1 })) })

/** Our client at a server, through a proxy. */
async function open(url: string) {
  const proxy = await startProxy(url)
  const pool = createRpcPool(proxy.url)
  closers.push(
    () => proxy.close(),
    () => pool.close(),
  )
  const identity = bearerIdentity(bearerCredential)
  const at = { url: proxy.url, audience: 'delivery', identity, pool }
  const client = createRpcClient(InboxService, at)
  const ask = async (...eventIds: string[]) => {
    const { known } = await client.seen({ eventIds })
    return known.map(({ eventId }) => eventId)
  }
  return { proxy, client, pool, ask }
}

/** What the proxy saw when a call stream had been asked for and fifty calls more were made. */
async function askOn({ proxy, ask }: Awaited<ReturnType<typeof open>>) {
  while (proxy.streams === 0) await ask('first')
  for (let count = 0; count < 50; count += 1) expect(await ask('next')).toEqual(['next'])
  return proxy
}

async function start(seen: Seen, options: Partial<ServeRpcOptions> = {}) {
  const inbox = await startInbox(seen, options)
  closers.push(() => inbox.server.close())
  return { ...inbox, ...(await open(inbox.url)) }
}

/** A call that its handler holds until it is let go. */
function holding() {
  const entered = Promise.withResolvers<AbortSignal>()
  const released = Promise.withResolvers<void>()
  let count = 0
  const seen: Seen = async (request, context) => {
    if (request.eventIds[0] !== 'hold') return echo(request, context)
    count += 1
    entered.resolve(context.signal)
    await released.promise
    return echo(request, context)
  }
  return { seen, entered: entered.promise, release: released.resolve, count: () => count }
}

async function reasonOf(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  return error instanceof Failure ? error.reason : String(error)
}

describe('a call stream', () => {
  it('a call stream sends concurrent calls over one connection, each with its own answer', async () => {
    const { proxy, ask } = await start(echo)
    await untilStreamed(proxy, () => ask('first'))
    const { others, streams } = proxy
    const ids = Array.from({ length: 200 }, (_, index) => `event ${index}`)
    expect(await Promise.all(ids.map((id) => ask(id)))).toEqual(ids.map((id) => [id]))
    expect(proxy).toMatchObject({ others, streams })
  })

  it('a call stream leaves messages that would hold up the others to HTTP, and brings answers of any size', async () => {
    const long = 'x'.repeat(maxStreamedBytes)
    const { proxy, ask } = await start((request, context) =>
      request.eventIds[0] === 'long' ? { known: [{ eventId: long }] } : echo(request, context),
    )
    await untilStreamed(proxy, () => ask('first'))
    const { streamedBytes } = proxy
    expect(await ask(long)).toEqual([long])
    expect(proxy.streamedBytes).toBe(streamedBytes)
    expect(await ask('long')).toEqual([long])
    expect(proxy.streamedBytes).toBeGreaterThan(streamedBytes)
  })

  it('a call stream sends a cancellation to the peer, and stays up', async () => {
    const { seen, entered, release } = holding()
    const { proxy, client, ask } = await start(seen)
    await untilStreamed(proxy, () => ask('first'))
    const leaving = new AbortController()
    const call = reasonOf(client.seen({ eventIds: ['hold'] }, { signal: leaving.signal }))
    const signal = await entered
    const aborted = once(signal, 'abort')
    const other = ask('other')
    leaving.abort()
    await aborted
    expect(await call).toBe('TIMEOUT')
    expect(await other).toEqual(['other'])
    release()
  })

  it('a call stream that breaks fails the calls that were sent, once each, and the next takes another route', async () => {
    const { seen, entered, release, count } = holding()
    const { proxy, ask } = await start(seen)
    await untilStreamed(proxy, () => ask('first'))
    const call = reasonOf(ask('hold'))
    const signal = await entered
    proxy.cut()
    expect(await call).toBe('SERVICE_UNAVAILABLE')
    expect(await ask('next')).toEqual(['next'])
    if (!signal.aborted) await once(signal, 'abort')
    expect(count()).toBe(1)
    release()
  })

  it('a call stream on which nothing comes back is not used again', async () => {
    const { proxy, client, ask } = await start(echo)
    await untilStreamed(proxy, () => ask('first'))
    proxy.hold()
    expect(await reasonOf(client.seen({ eventIds: ['lost'] }, { timeoutMs: 100 }))).toBe('TIMEOUT')
    expect(await ask('next')).toEqual(['next'])
  })

  it('a call stream is asked for once of a server that speaks no HTTP/2', async () => {
    const routes = connectNodeAdapter({
      routes: (router) => void router.service(oldService(InboxService), { seen: echo }),
    })
    const server = createServer(routes)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    closers.push(() => server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    expect(await askOn(await open(url))).toMatchObject({ streams: 1, streamedBytes: 0 })
  })

  it('a call stream is asked for once of a server that serves no call streams', async () => {
    const proxy = await askOn(await start(echo, { callStreams: false }))
    expect(proxy).toMatchObject({ streams: 1, streamedBytes: 0 })
  })
})

describe('a server that stops', () => {
  it('a server that stops answers calls in flight over its call streams and is not delayed by them', async () => {
    const { seen, entered, release } = holding()
    const { proxy, ask, server } = await start(seen, { graceMs: 60_000 })
    await untilStreamed(proxy, () => ask('first'))
    const call = ask('hold')
    await entered
    const closed = server.close()
    release()
    expect(await call).toEqual(['hold'])
    await closed
  })

  it('a server that stops notifies clients and answers calls that were sent before it arrived', async () => {
    const { proxy, ask, server } = await start(echo, { drainMs: 1_000 })
    await untilStreamed(proxy, () => ask('first'))
    const closed = server.close()
    expect(await ask('crossing')).toEqual(['crossing'])
    const { streamedBytes } = proxy
    expect(await ask('next')).toEqual(['next'])
    expect(proxy.streamedBytes).toBe(streamedBytes)
    await closed
  })
})

const authorization = `Bearer ${bearerCredential}`
const path = '/payweave.events.v1.InboxService/Seen'
const hold = Buffer.from([0x0a, 4, ...Buffer.from('hold')])

async function dial(port: number) {
  const dialled = await dialCallStream(port, { authorization })
  closers.push(dialled.close)
  return dialled
}

describe('a client of call streams', () => {
  it('a client of call streams needs a credential for the stream, and one for each call', async () => {
    const { server } = await start(echo)
    expect((await dialCallStream(server.port)).head).toMatchObject({ 'grpc-status': '16' })
    const { send, next } = await dial(server.port)
    send({ callId: 1, path })
    expect(await next()).toMatchObject({ callId: 1, status: 401 })
    send({ callId: 2, path: '/no.Service/Method', authorization })
    expect(await next()).toMatchObject({ callId: 2, notBegun: true })
    send({ callId: 3, path, authorization })
    expect(await next()).toMatchObject({ callId: 3, status: 0, headers: {} })
    // Headers that only HTTP has, and that would change what the call is.
    const odd = { 'connect-timeout-ms': 'soon', 'content-type': 'application/grpc' }
    send({ callId: 4, path, authorization, headers: odd })
    expect(await next()).toMatchObject({ callId: 4, status: 0 })
  })

  it('a client of call streams that ends its side is answered, and the stream ends well', async () => {
    const { seen, entered, release } = holding()
    const { server } = await start(seen)
    const { stream, send, next, ended } = await dial(server.port)
    send({ callId: 1, path, authorization, message: hold })
    stream.end()
    await entered
    release()
    expect(await next()).toMatchObject({ callId: 1, status: 0 })
    expect(await ended).toBe('0')
  })

  it.each(['application/connect+proto', 'application/grpc+json', 'application/proto'])(
    'a client of call streams in another protocol is refused: %s',
    async (contentType) => {
      const { server } = await start(echo)
      const { stream, head, close } = await dialCallStream(server.port, {
        authorization,
        contentType,
      })
      closers.push(close)
      stream.end(enveloped(Buffer.from('{}')))
      expect(head[':status']).toBe(contentType === 'application/proto' ? 415 : 200)
    },
  )

  it('a client of call streams that gives the stream a deadline is held to it', async () => {
    const { server } = await start(echo)
    const { stream, ended } = await dialCallStream(server.port, { authorization, timeout: '50m' })
    expect(await ended).toBe('4')
    expect(stream.destroyed).toBe(true)
  })

  it.each([
    ['bytes that are no message', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    ['a message that cannot be decoded', enveloped(Buffer.from([0xff]))],
    ['a message that is compressed', Buffer.from([1, 0, 0, 0, 0])],
    ['a path with control characters', requestBytes({ callId: 1, path: '/a\n' })],
  ])('a client of call streams is cut off for %s, and nobody else', async (_, bytes) => {
    const { server, ask } = await start(echo)
    const { stream, ended } = await dial(server.port)
    stream.write(bytes)
    expect(await ended).toBe('3')
    expect(await ask('next')).toEqual(['next'])
  })

  it('a client of call streams is cut off for a call number in use, and its calls are aborted', async () => {
    const { seen, entered, release } = holding()
    const { server, lines } = await start(seen)
    const { send, ended } = await dial(server.port)
    send({ callId: 1, path, authorization, message: hold })
    const signal = await entered
    const aborted = once(signal, 'abort')
    send({ callId: 1, path, authorization })
    expect(await ended).toBe('3')
    await aborted
    release()
    const noted = { rpc: path.slice(1), code: 'canceled' }
    await eventually(() => expect(lines).toContainEqual(expect.objectContaining(noted)))
  })

  it('a client of call streams that breaks off aborts its calls', async () => {
    const { seen, entered, release } = holding()
    const { server } = await start(seen)
    const { send, close } = await dial(server.port)
    send({ callId: 1, path, authorization, message: hold })
    const signal = await entered
    close()
    await eventually(() => expect(signal.aborted).toBe(true))
    release()
  })

  it('a client of call streams can begin no more calls by cancelling them than by waiting for them', async () => {
    const { seen, entered, release, count } = holding()
    const { server } = await start(seen)
    const { send } = await dial(server.port)
    for (let callId = 1; callId <= 4_000; callId += 1) {
      send({ callId, path, authorization, message: hold }, { callId, cancel: true })
    }
    await entered
    for (let before = -1; before !== count(); ) {
      before = count()
      for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
    }
    expect(count()).toBeGreaterThanOrEqual(1_024)
    expect(count()).toBeLessThan(2_048)
    release()
    await eventually(() => expect(count()).toBe(4_000))
  })

  it('a client of call streams has its headers counted as long as their calls run', async () => {
    const { seen, release, count } = holding()
    const { server } = await start(seen)
    const { send } = await dial(server.port)
    const long = 'x'.repeat(15_000)
    const headers = { one: long, two: long, three: long, four: long }
    // One connection has 4.5 MiB of request bytes.
    for (let callId = 1; callId <= 100; callId += 1) {
      send({ callId, path, authorization, headers, message: hold })
    }
    send({ callId: 101, path, authorization })
    await eventually(() => expect(count()).toBeGreaterThan(50))
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
    expect(count()).toBeLessThan(80)
    release()
  })

  it('a client of call streams that does not read answers is not served on, and cut off in the end', async () => {
    const large = 'x'.repeat(1 << 20)
    let count = 0
    const answer: Seen = () => {
      count += 1
      return { known: [{ eventId: large }] }
    }
    const { server } = await start(answer, { stalledMs: 100 })
    const { stream, send } = await dial(server.port)
    stream.pause()
    const calls = Array.from({ length: 32 }, (_, callId) => ({ callId, path, authorization }))
    send(...calls)
    await eventually(() => expect(count).toBe(32))
    send({ callId: 99, path, authorization })
    await once(stream, 'close')
    expect(count).toBe(32)
  })
})

it('a client from before call streams is answered so that it uses HTTP', async () => {
  const { server } = await start(echo)
  const socket = connect(server.port, '127.0.0.1')
  socket.write('LINK * PAYWEAVE/1\r\n\r\n')
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer.toString('latin1')).toMatch(/^HTTP\/1\.1 400 /)
  await once(socket, 'close')
})
