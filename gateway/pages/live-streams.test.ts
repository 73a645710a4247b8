// Tests that a page can see that its stream is alive.
import type { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { expect, it } from 'vitest'
import { createLogger } from '#platform/telemetry/log.ts'
import { createLiveStreams } from './live-streams.ts'

const limits = {
  perLink: 1,
  perProcess: 1,
  maxAgeMs: 60_000,
  heartbeatMs: 5,
  maxUnreadBytes: 2_048,
}

it('a stream that has nothing to say shows signs of life that the script of its page hears', async () => {
  const changes = { isLive: () => true, subscribe: () => () => undefined }
  const streams = createLiveStreams(
    changes,
    createLogger({ part: 'test', level: 'silent' }),
    limits,
  )
  const sent = Promise.withResolvers<Readable>()
  const reply = {
    headers: () => reply,
    type: () => reply,
    send: (stream: Readable) => sent.resolve(stream),
  }
  const now = { phase: 'open', stamp: '1' } as const
  streams.open(reply as unknown as FastifyReply, {
    token: 'link',
    paymentId: 'payment',
    now,
    read: () => Promise.resolve(now),
  })
  let text = ''
  for await (const chunk of await sent.promise) {
    text += String(chunk)
    // A comment is not shown to a script, and an event without data is not dispatched.
    if (/^event: alive\ndata: \S+\n\n/m.test(text)) break
  }
  expect(text).toContain(`data: ${JSON.stringify(now)}\n\n`)
  streams.close()
})
