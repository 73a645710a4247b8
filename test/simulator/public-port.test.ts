// Holds what each of the simulator's two ports serves: RPCs on one, pages and receivers on the other, and nothing else.
import { once } from 'node:events'
import http2 from 'node:http2'
import net from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Harness, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

/** What a port says to bytes, until it hangs up. */
async function answerTo(port: number, bytes: string | Buffer): Promise<string> {
  const socket = net.connect({ port, host: '127.0.0.1' })
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  socket.write(bytes)
  await once(socket, 'close')
  return text
}

describe('the public port', () => {
  it.each([
    '/grpc.health.v1.Health/Check',
    '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
    '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo',
    '/payweave.backend.v1.ChargeService/AnnounceCharges',
    '/payweave.backend.v1.PayoutService/CreatePayout',
  ])('the public port knows no RPC: %s', async (path) => {
    for (const type of ['application/json', 'application/proto', 'application/grpc']) {
      const answer = await fetch(`${harness.publicUrl}${path}`, {
        method: 'POST',
        headers: { 'content-type': type, 'connect-protocol-version': '1' },
        body: '{}',
      })
      expect([answer.status, await answer.json()]).toEqual([
        404,
        { message: 'There is no such page.' },
      ])
    }
  })

  it('the public port speaks no HTTP/2', async () => {
    const session = http2.connect(harness.publicUrl)
    const [error] = (await once(session, 'error')) as [Error]
    expect(error.message).toMatch(/Protocol error|ECONNRESET/)
    const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
    expect(await answerTo(harness.publicPort, preface)).toMatch(/^HTTP\/1\.1 400 /)
  })

  it('the public port names the methods of a path that was called with another', async () => {
    const asked: [string, string, string][] = [
      ['GET', '/receivers/ok/some-tag', 'POST'],
      ['DELETE', '/receivers/log', 'GET'],
      ['POST', '/receivers/log', 'GET'],
      ['HEAD', '/agent', 'GET, POST'],
      ['PUT', '/card/some-token', 'GET, POST'],
      ['OPTIONS', '/executions', 'GET'],
    ]
    for (const [method, path, allow] of asked) {
      const answer = await fetch(`${harness.publicUrl}${path}`, { method })
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow])
    }
    expect((await fetch(`${harness.publicUrl}/`)).status).toBe(404)
  })

  it('the public port keeps its answers from caches, type guesses and other sites', async () => {
    for (const path of ['/receivers/log?tag=some-tag', '/executions', '/agent', '/nowhere']) {
      const { headers } = await fetch(`${harness.publicUrl}${path}`)
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('access-control-allow-origin')).toBe(null)
    }
  })
})

describe('the port of the RPCs', () => {
  it.each([
    ['GET', '/agent'],
    ['POST', '/agent'],
    ['GET', '/simulator.css'],
    ['GET', `/card/${'x'.repeat(43)}`],
    ['GET', '/executions?kind=bill&id=00000000-0000-4000-8000-000000000000'],
    ['GET', '/receivers/log?tag=some-tag'],
    ['POST', '/receivers/ok/some-tag'],
  ])('the port of the RPCs serves no page: %s %s', async (method, path) => {
    const answer = await fetch(`${harness.url}${path}`, { method })
    expect([answer.status, await answer.json()]).toMatchObject([401, { code: 'unauthenticated' }])
  })
})
