// Proves that each call ends when its link fails, and takes another route if it was not begun.
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { buildConnector, type Dispatcher, Pool } from 'undici'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type FrameServer, type Peer, startFrameServer } from '../../testing/rpc/frame-server.ts'
import { createDispatcher } from '../client/dispatcher.ts'
import { currentContext, runWithContext } from '../context.ts'
import { frameKind } from './frames.ts'
import { maxLinkedBytes } from './link.ts'
import { LinkedPool } from './linked-pool.ts'

const closers: Array<() => unknown> = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const close of closers.splice(0).toReversed()) await close()
})

const headers = { 'content-type': 'application/proto', 'connect-timeout-ms': '10000' }

/** One call, and how it ends. */
function call(
  dispatcher: Dispatcher,
  path: string,
  handler: Dispatcher.DispatchHandler = {},
  body = new Uint8Array(1),
): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  dispatcher.dispatch(
    { path, method: 'POST', headers, body },
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

/** Calls until a call has gone over a link. */
async function linkUp(server: FrameServer, dispatcher: Dispatcher): Promise<Peer> {
  for (;;) {
    await call(dispatcher, '/up')
    const [peer] = server.ends
    if (peer !== undefined && peer.up > 0) return peer
  }
}

/** Holds the clock, by which a link distinguishes a silent peer from stalls of this machine. */
function holdClock(aheadMs = 0) {
  vi.spyOn(performance, 'now').mockReturnValue(performance.now() + aheadMs)
}

/** A client whose link is up, at a scripted server. */
async function open() {
  const server = await startFrameServer()
  closers.push(() => server.close())
  const connector = buildConnector({})
  let near: Socket | undefined
  const pool = new LinkedPool(server.origin, new Pool(server.origin), {
    connect: (options, callback) =>
      connector(options, (...result) => {
        near = result[1] ?? undefined
        callback(...result)
      }),
    maxBytes: 1_024,
  })
  closers.push(() => pool.close())
  const peer = await runWithContext(opener, () => linkUp(server, pool))
  server.requests = 0
  holdClock()
  return { server, pool, peer, near: near as Socket }
}

describe('a call over a link', () => {
  it.each([
    ['no JSON', '{'],
    ['no list', '7'],
    ['without headers', '[200,null]'],
  ])('a call over a link fails at once when the head of its answer is %s', async (_, head) => {
    const { pool, peer } = await open()
    const ended = call(pool, '/call')
    const [frame] = await peer.came(1)
    peer.say(frameKind.answer, frame?.call ?? 0, head)
    expect(await ended).not.toBe('answered')
  })

  it('a call over a link goes over HTTP when the other side ended the connection before it was sent', async () => {
    const { server, pool, peer, near } = await open()
    const ended = new Promise<string>((resolve) => {
      near.prependOnceListener('end', () => resolve(call(pool, '/call')))
    })
    peer.socket.end()
    expect(await ended).toBe('answered')
    expect([server.requests, peer.frames]).toEqual([1, []])
  })

  it('a call over a link that is cancelled before it was sent is not sent, and the link stays up', async () => {
    const { server, pool, peer } = await open()
    const ended = call(pool, '/given-up', {
      onRequestStart: (controller) => controller.abort(new Error('given up')),
    })
    expect(await ended).toBe('given up')
    void call(pool, '/next')
    const frames = await peer.came(1)
    expect(frames).toMatchObject([{ kind: frameKind.call, head: expect.stringMatching(/next/) }])
    expect(server.requests).toBe(0)
    peer.say(frameKind.answer, frames[0]?.call ?? 0)
  })

  it('a call over a link that is given up at once does not cost the others their link', async () => {
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

  it('a call that a link refused ends once, where it was sent next', async () => {
    const { pool, peer } = await open()
    const errors: Error[] = []
    let first: Dispatcher.DispatchController | undefined
    const ended = call(pool, '/call', {
      onRequestStart: (controller) => void (first ??= controller),
      onResponseError: (_, error) => void errors.push(error),
    })
    const [frame] = await peer.came(1)
    peer.say(frameKind.refused, frame?.call ?? 0)
    // The next frame is read after that one.
    await call(pool, '/up')
    first?.abort(new Error('too late'))
    expect(await ended).toBe('answered')
    expect(errors).toEqual([])
  })

  it('a call over a link is not delayed by calls that have been silent for long', async () => {
    const { server, pool, peer } = await open()
    const silent = call(pool, '/silent')
    const [frame] = await peer.came(1)
    holdClock(2_001)
    expect(await call(pool, '/next')).toBe('answered')
    expect(server.requests).toBe(1)
    peer.say(frameKind.answer, frame?.call ?? 0)
    expect(await silent).toBe('answered')
  })

  it('a call over a link has nothing of the context of the call that asked for the link', async () => {
    const { pool, peer } = await open()
    let seen: unknown = 'nothing'
    const ended = call(pool, '/call', {
      onResponseStart: () => {
        seen = currentContext()
      },
    })
    const [frame] = await peer.came(1)
    peer.say(frameKind.answer, frame?.call ?? 0)
    await ended
    expect(seen).toBeUndefined()
  })
})

it('a link that takes nothing any more does not hold up the end', async () => {
  const { pool, peer, near } = await open()
  peer.socket.pause()
  const body = new Uint8Array(maxLinkedBytes)
  const all = Array.from({ length: 256 }, () => {
    const { promise, resolve } = Promise.withResolvers<Dispatcher.DispatchController>()
    void call(pool, '/call', { onRequestStart: resolve }, body)
    return promise
  })
  for (const controller of await Promise.all(all)) controller.abort(new Error('given up'))
  await closers.pop()?.()
  expect(near.destroyed).toBe(true)
})

it('a call that an instance does not begin goes to another', async () => {
  const leaving = await startFrameServer()
  const other = createServer((_, response) => void response.writeHead(204).end())
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as AddressInfo
  const dispatcher = createDispatcher(`${leaving.origin},http://127.0.0.1:${port}`)
  closers.push(
    () => new Promise((resolve) => other.close(resolve)),
    () => dispatcher.close(),
    () => leaving.close(),
  )
  const peer = await linkUp(leaving, dispatcher)
  leaving.refuse()
  peer.socket.on('frame', () => peer.say(frameKind.refused, peer.frames.at(-1)?.call ?? 0))
  const all = Array.from({ length: 16 }, () => call(dispatcher, '/call'))
  expect(new Set(await Promise.all(all))).toEqual(new Set(['answered']))
  expect(peer.frames.length).toBeGreaterThan(0)
})
