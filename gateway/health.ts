// Readiness of the whole mesh behind the gateway.

import type { FastifyInstance } from 'fastify'
import { retryAfterOf } from './http/failures.ts'
import type { ReadyParts } from './options.ts'

/** Says whether one part is ready. */
export type Probe = () => boolean | Promise<boolean>

const probeTimeoutMs = 2_000
const answerLifeMs = 200

/** Runs all probes at once. The endpoint is public, so concurrent requests share one answer. */
export function readyParts(
  probes: Record<string, Probe>,
  nowMs: () => number = () => performance.now(),
): ReadyParts {
  let answer: Promise<Record<string, boolean>> | undefined
  let askedMs = 0
  return () => {
    if (answer === undefined || nowMs() - askedMs >= answerLifeMs) {
      askedMs = nowMs()
      answer = askAll(probes)
    }
    return answer
  }
}

async function askAll(probes: Record<string, Probe>): Promise<Record<string, boolean>> {
  const states = Object.entries(probes).map(async ([name, probe]) => [name, await ask(probe)])
  return Object.fromEntries(await Promise.all(states)) as Record<string, boolean>
}

async function ask(probe: Probe): Promise<boolean> {
  const late = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => late.resolve(false), probeTimeoutMs)
  try {
    return await Promise.race([probe(), late.promise])
  } catch {
    return false
  } finally {
    clearTimeout(timer)
  }
}

/** Paths of health checks, which overload does not refuse. */
export const healthPaths: ReadonlySet<string> = new Set(['/livez', '/readyz'])

/** GET /livez and GET /readyz, open to anybody. */
export function registerHealth(app: FastifyInstance, ready: ReadyParts): void {
  app.get('/livez', (_request, reply) => reply.send({ status: 'alive' }))
  app.get('/readyz', async (_request, reply) => {
    const parts = await ready()
    const isReady = Object.values(parts).every(Boolean)
    const status = isReady ? 'ready' : 'not ready'
    if (!isReady) void reply.code(503).header('retry-after', retryAfterOf('SERVICE_UNAVAILABLE'))
    return reply.send({ status, parts })
  })
}
