// Proves that calls which share one connection end as calls over HTTP do, also when the connection fails.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { ServiceImpl } from '@connectrpc/connect'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import { afterEach, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { InboxService } from '#gen/events/v1/events_pb.js'
import { eventually } from '../../../test/support/eventually.ts'
import { wholeFrames } from '../../testing/rpc/frame-server.ts'
import { bearerCredential, startInbox } from '../../testing/rpc/harness.ts'
import { linkUp, startProxy } from '../../testing/rpc/tcp-proxy.ts'
import { bearerIdentity } from '../auth/identity.ts'
import { createRpcClient, createRpcPool } from '../client/client.ts'
import type { RpcServer, ServeRpcOptions } from '../server/server.ts'
import { FrameQueue, frameKind, preface } from './frames.ts'
import { maxLinkedBytes } from './link.ts'

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

/** What the proxy saw when a link had been asked for and fifty calls more were made. */
async function askOn({ proxy, ask }: Awaited<ReturnType<typeof open>>) {
  while (proxy.links === 0) await ask('first')
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

describe('a link', () => {
  it('a link sends concurrent calls over one connection, each with its own answer', async () => {
    const { proxy, ask } = await start(echo)
    await linkUp(proxy, () => ask('first'))
    const { plain, links } = proxy
    const ids = Array.from({ length: 200 }, (_, index) => `event ${index}`)
    expect(await Promise.all(ids.map((id) => ask(id)))).toEqual(ids.map((id) => [id]))
    expect(proxy).toMatchObject({ plain, links })
  })

  it('a link leaves messages that would hold up the others to HTTP, and brings answers of any size', async () => {
    const long = 'x'.repeat(maxLinkedBytes)
    const { proxy, ask } = await start((request, context) =>
      request.eventIds[0] === 'long' ? { known: [{ eventId: long }] } : echo(request, context),
    )
    await linkUp(proxy, () => ask('first'))
    const { linkedBytes } = proxy
    expect(await ask(long)).toEqual([long])
    expect(proxy.linkedBytes).toBe(linkedBytes)
    expect(await ask('long')).toEqual([long])
    expect(proxy.linkedBytes).toBeGreaterThan(linkedBytes)
  })

  it('a link sends a cancellation to the peer, and stays up', async () => {
    const { seen, entered, release } = holding()
    const { proxy, client, ask } = await start(seen)
    await linkUp(proxy, () => ask('first'))
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

  it('a link that breaks fails the calls that were sent, once each, and the next takes another route', async () => {
    const { seen, entered, release, count } = holding()
    const { proxy, ask } = await start(seen)
    await linkUp(proxy, () => ask('first'))
    const call = reasonOf(ask('hold'))
    const signal = await entered
    proxy.cut()
    expect(await call).toBe('SERVICE_UNAVAILABLE')
    expect(await ask('next')).toEqual(['next'])
    if (!signal.aborted) await once(signal, 'abort')
    expect(count()).toBe(1)
    release()
  })

  it('a link on which nothing comes back is not used again', async () => {
    const { proxy, client, ask } = await start(echo)
    await linkUp(proxy, () => ask('first'))
    proxy.hold()
    expect(await reasonOf(client.seen({ eventIds: ['lost'] }, { timeoutMs: 100 }))).toBe('TIMEOUT')
    expect(await ask('next')).toEqual(['next'])
  })

  it('a link is asked for once of a server that does not know links', async () => {
    const routes = connectNodeAdapter({
      routes: (router) => void router.service(InboxService, { seen: echo }),
    })
    const server = createServer(routes)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    closers.push(() => server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    expect(await askOn(await open(url))).toMatchObject({ links: 1, linkedBytes: 0 })
  })

  it('a link is asked for once of a server that refuses links', async () => {
    const proxy = await askOn(await start(echo, { links: false }))
    expect(proxy).toMatchObject({ links: 1, linkedBytes: 0 })
  })
})

describe('a server that stops', () => {
  it('a server that stops answers calls in flight over its links and is not delayed by them', async () => {
    const { seen, entered, release } = holding()
    const { proxy, ask, server } = await start(seen, { graceMs: 60_000 })
    await linkUp(proxy, () => ask('first'))
    const call = ask('hold')
    await entered
    const closed = server.close()
    release()
    expect(await call).toEqual(['hold'])
    await closed
  })

  it('a server that stops sends GOAWAY and answers calls that were sent before it arrived', async () => {
    const { proxy, ask, server } = await start(echo, { drainMs: 1_000 })
    await linkUp(proxy, () => ask('first'))
    const closed = server.close()
    expect(await ask('crossing')).toEqual(['crossing'])
    const { linkedBytes } = proxy
    expect(await ask('next')).toEqual(['next'])
    expect(proxy.linkedBytes).toBe(linkedBytes)
    await closed
  })
})

/** A client that says what it likes. */
async function dial(server: RpcServer): Promise<{ socket: Socket; next: () => Promise<unknown> }> {
  const socket = connect(server.port, '127.0.0.1')
  closers.push(() => socket.destroy())
  socket.on('error', () => undefined)
  socket.write(preface)
  const [hello] = (await once(socket, 'data')) as [Buffer]
  expect(hello).toEqual(preface)
  const frames: unknown[] = []
  const reader = wholeFrames(1 << 20, ({ kind, call, head }) => {
    frames.push({ kind, call, head: head === '' ? head : JSON.parse(head) })
    socket.emit('frame')
  })
  socket.on('data', (chunk: Buffer) => reader.read(chunk))
  return {
    socket,
    async next() {
      if (frames.length === 0) await once(socket, 'frame')
      return frames.shift()
    },
  }
}

/** Ignores an error before the end. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()))
}

function frame(kind: number, call: number, head: string): Buffer {
  const queue = new FrameQueue()
  queue.add(kind, call, head)
  return queue.take()
}

const headers = { authorization: `Bearer ${bearerCredential}`, 'content-type': 'application/proto' }
const path = '/events.v1.InboxService/Seen'

describe('a client of links', () => {
  it('a client of links is refused without a credential, and refers calls that do not fit a link to HTTP', async () => {
    const { server } = await start(echo)
    const { socket, next } = await dial(server)
    socket.write(frame(frameKind.call, 1, JSON.stringify([path, {}])))
    expect(await next()).toMatchObject({ kind: frameKind.answer, call: 1, head: [401, {}] })
    socket.write(frame(frameKind.call, 2, JSON.stringify(['/no.Service/Method', headers])))
    expect(await next()).toEqual({ kind: frameKind.refused, call: 2, head: '' })
    const timeless = { ...headers, 'connect-timeout-ms': 'soon' }
    socket.write(frame(frameKind.call, 3, JSON.stringify([path, timeless])))
    expect(await next()).toEqual({ kind: frameKind.refused, call: 3, head: '' })
    const foreign = { ...headers, 'content-type': 'application/grpc' }
    socket.write(frame(frameKind.call, 4, JSON.stringify([path, foreign])))
    expect(await next()).toEqual({ kind: frameKind.refused, call: 4, head: '' })
    socket.write(frame(frameKind.call, 5, JSON.stringify([path, headers])))
    expect(await next()).toEqual({ kind: frameKind.answer, call: 5, head: '' })
  })

  it.each([
    ['bytes that are no frame', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    ['a frame that only servers send', frame(frameKind.goaway, 0, '')],
    ['a head that is no JSON', frame(frameKind.call, 1, '[')],
    ['a head without a path', frame(frameKind.call, 1, '{}')],
    ['headers that are no text', frame(frameKind.call, 1, JSON.stringify([path, { a: 1 }]))],
  ])('a client of links is cut off for %s, and nobody else', async (_, bytes) => {
    const { server, ask } = await start(echo)
    const { socket } = await dial(server)
    const gone = closed(socket)
    socket.write(bytes)
    await gone
    expect(await ask('next')).toEqual(['next'])
  })

  it('a client of links is disconnected for a call number in use, and its calls are aborted', async () => {
    const { seen, entered, release } = holding()
    const { server, lines } = await start(seen)
    const { socket } = await dial(server)
    const queue = new FrameQueue()
    const hold = Buffer.from([0x0a, 4, ...Buffer.from('hold')])
    queue.add(frameKind.call, 1, JSON.stringify([path, headers]), hold)
    socket.write(queue.take())
    const signal = await entered
    const gone = Promise.all([closed(socket), once(signal, 'abort')])
    socket.write(frame(frameKind.call, 1, JSON.stringify([path, headers])))
    await gone
    release()
    expect(lines.find((line) => line['msg'] === 'rpc answered')).toMatchObject({ code: 'canceled' })
  })

  it('a client of links can begin no more calls by cancelling them than by waiting for them', async () => {
    const { seen, entered, release, count } = holding()
    const { server } = await start(seen)
    const { socket } = await dial(server)
    const hold = Buffer.from([0x0a, 4, ...Buffer.from('hold')])
    const queue = new FrameQueue()
    for (let call = 1; call <= 4_000; call += 1) {
      queue.add(frameKind.call, call, JSON.stringify([path, headers]), hold)
      queue.add(frameKind.cancel, call)
    }
    socket.write(queue.take())
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

  it('a client of links that does not read answers is disconnected in the end', async () => {
    const large = 'x'.repeat(1 << 20)
    const { server } = await start(() => ({ known: [{ eventId: large }] }), { stalledMs: 100 })
    const { socket } = await dial(server)
    socket.removeAllListeners('data').pause()
    for (let call = 1; call <= 32; call += 1) {
      socket.write(frame(frameKind.call, call, JSON.stringify([path, headers])))
    }
    // Detected by a write, since a paused socket does not see the end.
    const gone = closed(socket)
    const writing = setInterval(() => socket.write(frame(frameKind.cancel, 99, '')), 20)
    closers.push(() => clearInterval(writing))
    await gone
    expect(socket.destroyed).toBe(true)
  })
})
