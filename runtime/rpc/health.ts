// grpc.health.v1 over one `ready` question; it must not decide what being ready means.

import { setTimeout as delay } from 'node:timers/promises'
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from '@connectrpc/connect'
import type { UniversalHandlerOptions } from '@connectrpc/connect/protocol'
import { Health, HealthCheckResponse_ServingStatus as Status } from '#gen/health/v1/health_pb.js'

/** Says whether the process can do its work now. */
export type Ready = () => boolean | Promise<boolean>

const answerLifeMs = 250
const answerTimeoutMs = 2_000
const watchPollMs = 500
const maxWatchers = 256

/**
 * Serves Check, Watch and List for the whole server (empty name) and each of `serviceNames`. Anyone may
 * ask, so the answer of `ready` is shared by all who ask within a quarter of a second.
 */
export function healthRoutes(
  router: ConnectRouter,
  serviceNames: readonly string[],
  ready: Ready,
  options: Partial<UniversalHandlerOptions> = {},
): void {
  const known = new Set(['', ...serviceNames])
  const status = sharedStatus(ready)
  let watchers = 0

  async function* watch(service: string, signal: AbortSignal) {
    let last: Status | undefined
    while (!signal.aborted) {
      const current = known.has(service) ? await status() : Status.SERVICE_UNKNOWN
      if (current !== last) yield { status: current }
      last = current
      await delay(watchPollMs, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  router.service(
    Health,
    {
      async check({ service }) {
        if (!known.has(service)) throw new ConnectError('unknown service', Code.NotFound)
        return { status: await status() }
      },
      async *watch({ service }, { signal }: HandlerContext) {
        if (watchers >= maxWatchers)
          throw new ConnectError('too many watchers', Code.ResourceExhausted)
        watchers += 1
        try {
          yield* watch(service, signal)
        } finally {
          watchers -= 1
        }
      },
      async list() {
        const current = await status()
        return {
          statuses: Object.fromEntries([...known].map((name) => [name, { status: current }])),
        }
      },
    },
    options,
  )
}

function sharedStatus(ready: Ready): () => Promise<Status> {
  let answer: Promise<Status> | undefined
  let askedMs = 0
  return () => {
    const nowMs = Date.now()
    if (answer === undefined || nowMs - askedMs >= answerLifeMs) {
      askedMs = nowMs
      answer = ask(ready)
    }
    return answer
  }
}

async function ask(ready: Ready): Promise<Status> {
  const tooLate = delay(answerTimeoutMs, false, { ref: false })
  try {
    return (await Promise.race([ready(), tooLate])) ? Status.SERVING : Status.NOT_SERVING
  } catch {
    return Status.NOT_SERVING
  }
}
