// Tests the limits of one person: requests in time, and streams at once.
import { EventEmitter, once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyReply } from 'fastify'
import { expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { createRequestLimits } from './request-limits.ts'

function newReply() {
  const headers: Record<string, unknown> = {}
  const raw = new EventEmitter()
  const reply = { raw, header: (name: string, value: unknown) => (headers[name] = value) }
  return { reply: reply as unknown as FastifyReply, raw, headers }
}

function reasonOf(work: () => void): string | undefined {
  try {
    work()
  } catch (error) {
    return error instanceof Failure ? error.reason : String(error)
  }
  return undefined
}

it('a person may send 600 requests at once and 10 in each second after that, and nobody else waits', () => {
  let nowMs = 0
  const limits = createRequestLimits(() => nowMs)
  const { reply, headers } = newReply()
  const take = (person: string) => reasonOf(() => limits.takeRequest(person, reply))
  const first = Array.from({ length: 600 }, () => take('ada'))
  expect(first.filter((reason) => reason !== undefined)).toEqual([])
  expect([take('ada'), headers['retry-after'], take('bob')]).toEqual([
    'RATE_LIMIT_EXCEEDED',
    1,
    undefined,
  ])
  nowMs = 1_000
  const later = Array.from({ length: 11 }, () => take('ada'))
  expect(later.filter((reason) => reason !== undefined)).toEqual(['RATE_LIMIT_EXCEEDED'])
})

it('a person may have 16 streams open, and another when one of them has closed', () => {
  const limits = createRequestLimits()
  const open = () => {
    const { reply, raw } = newReply()
    return { raw, reason: reasonOf(() => limits.takeStream('ada', reply)) }
  }
  const streams = Array.from({ length: 17 }, open)
  expect(streams.map(({ reason }) => reason).indexOf('RATE_LIMIT_EXCEEDED')).toBe(16)
  streams[3]?.raw.emit('close')
  expect([open().reason, open().reason]).toEqual([undefined, 'RATE_LIMIT_EXCEEDED'])
})

it('a person who left before their session was read leaves no stream open', async () => {
  const limits = createRequestLimits()
  const server = http.createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const request = http.get({ port, host: '127.0.0.1' }).on('error', () => undefined)
  const [, raw] = (await once(server, 'request')) as [unknown, http.ServerResponse]
  request.destroy()
  await once(raw, 'close')
  const left = { raw } as unknown as FastifyReply
  for (let n = 0; n < 16; n += 1) limits.takeStream('ada', left)
  expect(reasonOf(() => limits.takeStream('ada', newReply().reply))).toBeUndefined()
  server.close()
})
