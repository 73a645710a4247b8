// Tests that a gateway that drains moves its clients to other instances without a failed request.
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { fastify } from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import { drainedPort } from './drain.ts'
import { createInFlight } from './in-flight.ts'

const closers: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

/** A port whose `/slow` is answered when the test says so, and a client that keeps its one connection. */
async function startDraining(drainMs: number) {
  const stopping = new AbortController()
  const slow = Promise.withResolvers<void>()
  const arrived = Promise.withResolvers<void>()
  const inFlight = createInFlight()
  const app = fastify({
    forceCloseConnections: 'idle',
    serverFactory: (handle) => http.createServer(inFlight.listener(handle)),
  })
  app.addHook('onSend', async ({ raw }) => inFlight.answered(raw))
  app.get('/', () => 'answered')
  app.get('/slow', async () => {
    arrived.resolve()
    await slow.promise
    return 'answered'
  })
  const port = drainedPort({ app, drain: () => inFlight.drain() }, stopping.signal, drainMs)
  await app.listen({ host: '127.0.0.1', port: 0 })
  closers.push(slow.resolve, () => app.close())
  const { port: number } = app.server.address() as AddressInfo
  const get = (path: string, agent: http.Agent) =>
    new Promise<http.IncomingMessage>((resolve, reject) => {
      http
        .get({ host: '127.0.0.1', port: number, path, agent }, (answer) => {
          answer.resume()
          answer.once('end', () => resolve(answer))
        })
        .once('error', reject)
    })
  const newAgent = () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    closers.push(() => agent.destroy())
    return agent
  }
  const stop = () => {
    stopping.abort()
    return port.close()
  }
  return { get, newAgent, stop, answerSlow: slow.resolve, arrived: arrived.promise }
}

describe('a gateway that stops', () => {
  it('a gateway that stops answers requests in flight and new ones, and closes each connection with its answer', async () => {
    const { get, newAgent, stop, answerSlow, arrived } = await startDraining(1_500)
    const kept = newAgent()
    expect((await get('/', kept)).headers.connection).toBe('keep-alive')
    const underWay = get('/slow', newAgent())
    await arrived
    const stopped = stop()
    const [onKept, onNew] = await Promise.all([get('/', kept), get('/', newAgent())])
    for (const answer of [onKept, onNew]) {
      expect(answer.statusCode).toBe(200)
      expect(answer.headers.connection).toBe('close')
    }
    answerSlow()
    const slow = await underWay
    expect(slow.statusCode).toBe(200)
    expect(slow.headers.connection).toBe('close')
    await stopped
    await expect(get('/', newAgent())).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })
})
