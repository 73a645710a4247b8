// Sends the clients of a gateway that stops elsewhere before it closes.
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { InFlight } from './in-flight.ts'

const closingMs = 8_000

/**
 * The part of the process that closes the public port: from the beginning of the stop each connection ends with the
 * answers of the requests that it has, and for a while new ones are still taken, since a load balancer hears of the stop
 * later than we do.
 */
export function drainedPort(
  { app, inFlight }: { app: FastifyInstance; inFlight: InFlight },
  stopping: AbortSignal,
  drainMs: number,
) {
  stopping.addEventListener('abort', () => inFlight.drain())
  return {
    name: 'http',
    closeWithinMs: drainMs + closingMs,
    async close() {
      if (drainMs > 0) await delay(drainMs)
      await app.close()
    },
  }
}
