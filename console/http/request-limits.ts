// Bounds what one person asks of the console: requests in time, and event streams at once.
import type { FastifyReply } from 'fastify'
import { Failure } from '#core/errors/errors.ts'
import { tokenBucket } from '#core/token-bucket.ts'

/** A person who opens page after page stays far below; each call of a page leaves a row in the record of activity. */
const rate = { ratePerS: 10, burst: 600 }
/** Open pages that follow something, in all tabs of a person. */
const maxStreams = 16

/** The limits of all persons, in this process. */
export type RequestLimits = {
  /** Takes one request of a person. Throws RATE_LIMIT_EXCEEDED, with Retry-After, when they have none left. */
  takeRequest(person: string, reply: FastifyReply): void
  /** Takes one stream of a person, until its connection closes. Throws RATE_LIMIT_EXCEEDED when too many are open. */
  takeStream(person: string, reply: FastifyReply): void
}

/** Makes the limits. `nowMs` is any clock in milliseconds. */
export function createRequestLimits(nowMs: () => number = () => performance.now()): RequestLimits {
  const requests = tokenBucket(rate)
  const streams = new Map<string, number>()

  function release(person: string): void {
    const left = (streams.get(person) ?? 1) - 1
    if (left > 0) streams.set(person, left)
    else streams.delete(person)
  }

  return {
    takeRequest(person, reply) {
      const { ok, resetS } = requests.take(person, nowMs())
      if (ok) return
      void reply.header('retry-after', resetS)
      throw new Failure('RATE_LIMIT_EXCEEDED', 'These were too many requests. Wait a moment.')
    },
    takeStream(person, reply) {
      const open = streams.get(person) ?? 0
      if (open >= maxStreams) {
        throw new Failure('RATE_LIMIT_EXCEEDED', 'Too many pages follow something. Close some.')
      }
      // The client left while its session was read: that will not be said again.
      if (reply.raw.destroyed) return
      streams.set(person, open + 1)
      reply.raw.once('close', () => release(person))
    },
  }
}
