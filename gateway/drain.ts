// Lets a gateway that stops send its clients elsewhere before it closes; it must not answer anything itself.
import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

const closingMs = 8_000

/**
 * The part of the process that closes the public port: from the beginning of the stop each answer ends its connection, and
 * for a while new ones are still taken, since a load balancer hears of the stop later than we do.
 */
export function drainedPort(app: FastifyInstance, stopping: AbortSignal, drainMs: number) {
  const underWay = new Set<ServerResponse>()
  // Before the application's own listener, which writes the head of the answer.
  app.server.prependListener('request', (_, response) => {
    if (stopping.aborted) response.shouldKeepAlive = false
    underWay.add(response)
    response.once('close', () => underWay.delete(response))
  })
  stopping.addEventListener('abort', () => {
    for (const response of underWay) response.shouldKeepAlive = false
  })
  return {
    name: 'http',
    closeWithinMs: drainMs + closingMs,
    async close() {
      if (drainMs > 0) await delay(drainMs)
      await app.close()
    },
  }
}
