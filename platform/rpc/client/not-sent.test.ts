// Tests which failed calls are known not to have reached the peer.
import { createServer, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { InboxService } from '#gen/payweave/events/v1/events_pb.js'
import { freePorts } from '../../../test/support/servers.ts'
import { bearerCredential, startInbox } from '../../testing/rpc/harness.ts'
import { startProxy, untilStreamed } from '../../testing/rpc/tcp-proxy.ts'
import { bearerIdentity } from '../auth/identity.ts'
import { runWithContext } from '../context.ts'
import { createRpcClient, createRpcPool } from './client.ts'
import { wasNotSent } from './not-sent.ts'

const closers: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

function clientAt(url: string) {
  const pool = createRpcPool(url)
  closers.push(() => pool.close())
  const identity = bearerIdentity(bearerCredential)
  return createRpcClient(InboxService, { url, audience: 'delivery', identity, pool })
}

async function errorOf(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
}

/** A port where `onSocket` answers. */
async function portOf(onSocket: (socket: Socket) => void): Promise<number> {
  const server = createServer(onSocket)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  closers.push(() => new Promise<void>((resolve) => void server.close(() => resolve())))
  return port
}

/** One address, which is not chosen from, and a name, which is. */
describe.each(['127.0.0.1', 'localhost'])('a call to %s', (host) => {
  it(`a call to ${host} that is refused its connection was not sent`, async () => {
    const [closed = 0] = await freePorts(1)
    const { seen } = clientAt(`http://${host}:${closed}`)
    const error = await errorOf(seen({}))
    expect(error).toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
    expect(wasNotSent(error)).toBe(true)
  })

  it(`a call to ${host} whose connection breaks may have been seen`, async () => {
    const port = await portOf((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => socket.destroy())
    })
    const { seen } = clientAt(`http://${host}:${port}`)
    const error = await errorOf(seen({}))
    expect(error).toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
    expect(wasNotSent(error)).toBe(false)
  })

  it(`a call to ${host} that is not answered in time may have been seen`, async () => {
    let calls = 0
    const inbox = await startInbox(async () => {
      calls += 1
      if (calls > 1) await new Promise(() => undefined)
      return {}
    })
    closers.push(() => inbox.server.close())
    const { seen } = clientAt(`http://${host}:${inbox.server.port}`)
    // The time of the other is none to connect in.
    await seen({})
    const error = await errorOf(seen({}, { timeoutMs: 100 }))
    expect(error).toMatchObject({ reason: 'TIMEOUT' })
    expect(wasNotSent(error)).toBe(false)
  })

  it(`a call to ${host} for which no time is left was not sent`, async () => {
    const { seen } = clientAt(`http://${host}:1`)
    const context = {
      requestId: '0198c000-0000-7000-8000-000000000001',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      deadline: Date.now() - 1,
    }
    const error = await errorOf(runWithContext(context, () => seen({})))
    expect(wasNotSent(error)).toBe(true)
  })
})

it('a call over a call stream that breaks may have been seen', async () => {
  const entered = Promise.withResolvers<void>()
  const inbox = await startInbox(({ eventIds }) => {
    if (eventIds.length === 0) return { known: [] }
    entered.resolve()
    return new Promise(() => undefined)
  })
  closers.push(() => inbox.server.close())
  const proxy = await startProxy(inbox.url)
  closers.push(() => proxy.close())
  const { seen } = clientAt(proxy.url)
  await untilStreamed(proxy, () => seen({}))
  const failed = errorOf(seen({ eventIds: ['held'] }))
  await entered.promise
  proxy.cut()
  expect(wasNotSent(await failed)).toBe(false)
})
