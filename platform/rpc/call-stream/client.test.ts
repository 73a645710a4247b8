// Proves that each call ends when its call stream fails, and takes another route if it was not begun.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Dispatcher, Pool } from 'undici'
import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  type CallStreamServer,
  enveloped,
  type Peer,
  startCallStreamServer,
} from '../../testing/rpc/call-streams.ts'
import { createDispatcher } from '../client/dispatcher.ts'
import { currentContext, runWithContext } from '../context.ts'
import { CallStream, openCallStream } from './client.ts'
import { maxStreamedBytes } from './messages.ts'
import { CallStreamPool } from './pool.ts'

const closers: Array<() => unknown> = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const close of closers.splice(0).toReversed()) await close()
})

const headers = {
  'content-type': 'application/proto',
  'connect-timeout-ms': '10000',
  authorization: 'Bearer a',
}

/** One call, and how it ends. */
function call(
  dispatcher: Dispatcher,
  path: string,
  handler: Dispatcher.DispatchHandler = {},
  { body = new Uint8Array(1), more = {} }: { body?: Uint8Array; more?: object } = {},
): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  dispatcher.dispatch(
    { path, method: 'POST', headers: { ...headers, ...more }, body },
    {
      onRequestStart: () => undefined,
      onResponseStart: () => undefined,
      onResponseData: () => undefined,
      onResponseEnd: () => resolve('answered'),
      onResponseError: (_, error) => resolve(error.message),
      ...handler,
    },
  )
  return promise
}

const opener = { requestId: 'opener', traceparent: '' }

/** Calls until a call has gone over a call stream. */
async function untilUp(server: CallStreamServer, dispatcher: Dispatcher): Promise<Peer> {
  for (;;) {
    await call(dispatcher, '/up')
    const [peer] = server.peers
    if (peer !== undefined && peer.up > 0) return peer
  }
}

/** Holds the clock, by which a call stream distinguishes a silent peer from stalls of this machine. */
function holdClock(aheadMs = 0) {
  vi.spyOn(performance, 'now').mockReturnValue(performance.now() + aheadMs)
}

/** A client whose call stream is up, at a scripted server. */
async function open() {
  const server = await startCallStreamServer()
  closers.push(() => server.close())
  const pool = new CallStreamPool(server.origin, new Pool(server.origin), {
    connect: {},
    maxBytes: 1_024,
  })
  closers.push(() => pool.close())
  const peer = await runWithContext(opener, () => untilUp(server, pool))
  server.requests = 0
  holdClock()
  return { server, pool, peer }
}

describe('a call over a call stream', () => {
  it.each([
    ['cannot be decoded', enveloped(Buffer.from([0xff]))],
    ['is too long', enveloped(Buffer.alloc(0), 1 << 20)],
    ['is compressed', Buffer.from([1, 0, 0, 0, 0])],
  ])('a call over a call stream fails at once when a response %s', async (_, bytes) => {
    const { pool, peer } = await open()
    const ended = call(pool, '/call')
    await peer.came(1)
    peer.stream.write(bytes)
    expect(await ended).not.toBe('answered')
  })

  it('a call over a call stream takes another route when the other side ended the stream before it was sent', async () => {
    const server = await startCallStreamServer()
    closers.push(() => server.close())
    const stream = await openCallStream(new URL(server.origin), {}, 'Bearer a')
    if (typeof stream === 'string') throw new Error(stream)
    const returned = Promise.withResolvers<string>()
    const events = {
      onReturned: ({ path }: { path: string }) => returned.resolve(path),
      onRetired: () => undefined,
    }
    const calls = new CallStream(stream, events, 1_024)
    const request = { path: '/call', headers, body: new Uint8Array(1) }
    stream.prependOnceListener('end', () => calls.take(request, {}))
    server.peers[0]?.stream.end()
    expect(await returned.promise).toBe('/call')
    await calls.close()
    expect(server.peers[0]?.calls).toEqual([])
  })

  it('a call over a call stream goes over HTTP when it has no credential, no time-out in whole ms, or headers that are too long', async () => {
    const { server, pool, peer } = await open()
    for (const more of [
      { authorization: undefined },
      { 'connect-timeout-ms': undefined },
      { 'connect-timeout-ms': '0.5' },
      { 'x-long': 'x'.repeat(16_384) },
    ]) {
      expect(await call(pool, '/call', {}, { more })).toBe('answered')
    }
    expect([server.requests, peer.calls]).toEqual([4, []])
  })

  it('a call over a call stream that is cancelled before it was sent is not sent, and the stream stays up', async () => {
    const { server, pool, peer } = await open()
    const ended = call(pool, '/given-up', {
      onRequestStart: (controller) => controller.abort(new Error('given up')),
    })
    expect(await ended).toBe('given up')
    void call(pool, '/next')
    const [sent] = await peer.came(1)
    expect(sent).toMatchObject({ path: '/next' })
    expect([server.requests, peer.calls]).toEqual([0, [sent]])
    peer.say({ callId: sent?.callId })
  })

  it('a call over a call stream that is given up at once does not cost the others their stream', async () => {
    const { server, pool, peer } = await open()
    const started = Promise.withResolvers<Dispatcher.DispatchController>()
    const ended = call(pool, '/call', { onRequestStart: started.resolve })
    const controller = await started.promise
    await peer.came(1)
    controller.abort(new Error('given up'))
    expect(await ended).toBe('given up')
    expect(await call(pool, '/up')).toBe('answered')
    expect(server.requests).toBe(0)
  })

  it('a call that a server did not begin ends once, where it was sent next', async () => {
    const { pool, peer } = await open()
    const errors: Error[] = []
    let first: Dispatcher.DispatchController | undefined
    const ended = call(pool, '/call', {
      onRequestStart: (controller) => void (first ??= controller),
      onResponseError: (_, error) => void errors.push(error),
    })
    const [sent] = await peer.came(1)
    peer.say({ callId: sent?.callId, notBegun: true })
    // The next response is read after that one.
    await call(pool, '/up')
    first?.abort(new Error('too late'))
    expect(await ended).toBe('answered')
    expect(errors).toEqual([])
  })

  it('a call over a call stream is not delayed by calls that have been silent for long', async () => {
    const { server, pool, peer } = await open()
    const silent = call(pool, '/silent')
    const [sent] = await peer.came(1)
    holdClock(2_001)
    expect(await call(pool, '/next')).toBe('answered')
    expect(server.requests).toBe(1)
    peer.say({ callId: sent?.callId })
    expect(await silent).toBe('answered')
  })

  it('a call over a call stream has nothing of the context of the call that asked for the stream', async () => {
    const { pool, peer } = await open()
    let seen: unknown = 'nothing'
    const ended = call(pool, '/call', {
      onResponseStart: () => {
        seen = currentContext()
      },
    })
    const [sent] = await peer.came(1)
    peer.say({ callId: sent?.callId })
    await ended
    expect(seen).toBeUndefined()
  })
})

it('a call stream is left when its server drains: responses still come, and new calls go over HTTP', async () => {
  const { server, pool, peer } = await open()
  const held = call(pool, '/held')
  const [sent] = await peer.came(1)
  peer.say({ draining: true })
  do expect(await call(pool, '/up')).toBe('answered')
  while (server.requests === 0)
  peer.say({ callId: sent?.callId })
  expect(await held).toBe('answered')
  await once(peer.stream, 'end')
})

it('a call stream is left after a GOAWAY of its connection, and a new one is opened', async () => {
  const { server, pool, peer } = await open()
  const held = call(pool, '/held')
  const [sent] = await peer.came(1)
  peer.stream.session?.close()
  do expect(await call(pool, '/up')).toBe('answered')
  while (server.requests === 0)
  peer.say({ callId: sent?.callId })
  expect(await held).toBe('answered')
  vi.restoreAllMocks()
  while (server.peers.length === 1) expect(await call(pool, '/up')).toBe('answered')
})

it('a call stream that takes nothing any more does not hold up the end', async () => {
  const { pool, peer } = await open()
  peer.stream.pause()
  const body = new Uint8Array(maxStreamedBytes)
  const all = Array.from({ length: 256 }, () => {
    const { promise, resolve } = Promise.withResolvers<Dispatcher.DispatchController>()
    void call(pool, '/call', { onRequestStart: resolve }, { body })
    return promise
  })
  for (const controller of await Promise.all(all)) controller.abort(new Error('given up'))
  const closed = once(peer.stream, 'close')
  await closers.pop()?.()
  await closed
  expect(peer.stream.destroyed).toBe(true)
})

it('a call that an instance does not begin goes to another', async () => {
  const leaving = await startCallStreamServer()
  const other = createServer((_, response) => void response.writeHead(204).end())
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as AddressInfo
  const dispatcher = createDispatcher(`${leaving.origin},http://127.0.0.1:${port}`)
  closers.push(
    () => new Promise((resolve) => other.close(resolve)),
    () => dispatcher.close(),
    () => leaving.close(),
  )
  const peer = await untilUp(leaving, dispatcher)
  leaving.refuse()
  peer.stream.on('message', () => peer.say({ callId: peer.calls.at(-1)?.callId, notBegun: true }))
  const all = Array.from({ length: 16 }, () => call(dispatcher, '/call'))
  expect(new Set(await Promise.all(all))).toEqual(new Set(['answered']))
  expect(peer.calls.length).toBeGreaterThan(0)
})
