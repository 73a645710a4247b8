// Serves grpc.health.v1 from `ready` functions.

import { setTimeout as delay } from 'node:timers/promises'
import type { ConnectRouter, HandlerContext } from '@connectrpc/connect'
import type { UniversalHandlerOptions } from '@connectrpc/connect/protocol'
import { Failure } from '#core/errors/errors.ts'
import { Health, HealthCheckResponse_ServingStatus as Status } from '#gen/health/v1/health_pb.js'
import { servedCallKey } from './served-call.ts'

/** Whether the process can do its work now. An error counts as "no", and so does an answer after 2 s. */
export type Ready = () => boolean | Promise<boolean>

const answerLifeMs = 250
const answerTimeoutMs = 2_000
const watchPollMs = 500

/**
 * What can be asked for: the state of the server by the names of its services, and states beside it by names of their
 * own.
 */
export type HealthSources = {
  services: readonly string[]
  ready: Ready
  /** States that do not count for the server, which works without them. */
  apart?: Readonly<Record<string, Ready>> | undefined
}

/**
 * Serves Check, Watch and List for the whole server (empty name), each of its services (by its old name too, which List does not
 * show), and the states apart. They need
 * no credential, so an answer is shared for a quarter of a second, and watches are limited by connection and address.
 * Check refuses an unknown name with RPC_SERVICE_NOT_FOUND, Watch one watch too many with SERVER_OVERLOADED.
 */
export function healthRoutes(
  router: ConnectRouter,
  { services, ready, apart = {} }: HealthSources,
  options: Partial<UniversalHandlerOptions> = {},
): void {
  const whole = sharedStatus(ready)
  const known = new Map([
    ...['', ...services].map((name) => [name, whole] as const),
    ...Object.entries(apart).map(([name, state]) => [name, sharedStatus(state)] as const),
  ])

  const statusOf = (service: string) => known.get(service) ?? known.get(`payweave.${service}`)

  async function* watch(service: string, signal: AbortSignal) {
    let last: Status | undefined
    while (!signal.aborted) {
      const current = (await statusOf(service)?.()) ?? Status.SERVICE_UNKNOWN
      if (current !== last) yield { status: current }
      last = current
      await delay(watchPollMs, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  router.service(
    Health,
    {
      async check({ service }) {
        const status = statusOf(service)
        if (status === undefined) throw new Failure('RPC_SERVICE_NOT_FOUND', 'unknown service')
        return { status: await status() }
      },
      async *watch({ service }, { signal, values }: HandlerContext) {
        const call = values.get(servedCallKey)
        const release = call?.connection?.watch(call.caller !== undefined)
        if (release === undefined)
          throw new Failure('SERVER_OVERLOADED', 'too many watches are open')
        try {
          yield* watch(service, signal)
        } finally {
          release()
        }
      },
      async list() {
        const statuses = [...known].map(async ([name, status]) => [
          name,
          { status: await status() },
        ])
        return { statuses: Object.fromEntries(await Promise.all(statuses)) }
      },
    },
    options,
  )
}

function sharedStatus(ready: Ready): () => Promise<Status> {
  let answer: Promise<Status> | undefined
  let askedMs = 0
  return () => {
    const nowMs = performance.now()
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
