// Drains the public port at a graceful shutdown.
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

const closingMs = 8_000

/**
 * The part of the process that closes the public port. From the start of the shutdown each connection is closed after the
 * responses to its requests. New connections are accepted for another `drainMs`, until load balancers have removed the process.
 */
export function drainedPort(
  { app, drain }: { app: FastifyInstance; drain: () => void },
  stopping: AbortSignal,
  drainMs: number,
) {
  stopping.addEventListener('abort', drain)
  return {
    name: 'http',
    closeWithinMs: drainMs + closingMs,
    async close() {
      if (drainMs > 0) await delay(drainMs)
      await app.close()
    },
  }
}
