// Drains the public port at a graceful shutdown.
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { InFlight } from './in-flight.ts'

const closingMs = 8_000

/**
 * The part of the process that closes the public port. From the start of the shutdown each connection is closed after the
 * answers to its requests. New connections are accepted for another `drainMs`, until load balancers have noticed.
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
