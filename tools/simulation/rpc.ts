// The RPCs of a run: a call and its answer take their time, and each may be lost; a process that has ended answers nobody.
import { create, type DescMethodUnary, type DescService } from '@bufbuild/protobuf'
import { type Client, createClient, type ServiceImpl, type Transport } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { InboxService } from '#gen/payweave/events/v1/events_pb.js'
import type { InboxClient } from '#platform/events/outbox.ts'
import { NotSent } from '#platform/rpc/client/not-sent.ts'
import { type CallContext, currentContext, runWithContext } from '#platform/rpc/context.ts'
import type { Process } from './engine/scheduler.ts'
import type { Simulation } from './simulation.ts'

/** A process that serves a service, with its handlers of now. */
export type Callee<S extends DescService> = {
  readonly process: Process
  served(): ServiceImpl<S>
}

/** The inbox of consumers as a producer calls it. */
export function inboxClientOf(
  simulation: Simulation,
  consumers: readonly Callee<typeof InboxService>[],
  caller: Process,
): InboxClient {
  return clientOf(simulation, InboxService, consumers, { caller, timeoutMs: 5_000 })
}

/** By local name of the method. */
type Handlers = Record<string, (request: unknown, context: CallContext) => Promise<Fields>>
type Fields = Record<string, unknown>

const stream = () => Promise.reject(new Error('no call of a run is a stream'))

const refused = (): Failure =>
  new Failure('SERVICE_UNAVAILABLE', 'no connection', { cause: new NotSent() })

/** Who calls, and how long it waits. `as` is the name that the callee reads from its token; it reads none without. */
export type CallOptions = { caller: Process; timeoutMs: number; as?: string }

/** A client whose calls each go to one of the callees. It rejects as the product's clients do. */
export function clientOf<S extends DescService>(
  simulation: Simulation,
  service: S,
  callees: readonly Callee<S>[],
  { caller, timeoutMs, as }: CallOptions,
): Client<S> {
  const named = as === undefined ? {} : { caller: { kind: 'service' as const, name: as } }
  async function unary(
    method: DescMethodUnary,
    _signal: unknown,
    ownTimeoutMs = timeoutMs,
    _header: unknown,
    input: Fields,
  ) {
    const leftMs = (currentContext()?.deadline ?? Number.POSITIVE_INFINITY) - Date.now()
    if (leftMs <= 0) throw new Failure('TIMEOUT', 'no time is left', { cause: new NotSent() })
    const { served, process } = simulation.scheduler.random.pick(callees)
    const limitMs = Math.min(ownTimeoutMs, leftMs)
    const handle = async () => {
      const waiting = new AbortController()
      const cancel = simulation.scheduler.after(limitMs, () => waiting.abort(), process)
      const { signal } = waiting
      const deadline = Date.now() + limitMs
      const context = { requestId: '', traceparent: '', deadline, signal, ...named }
      const handler = (served() as unknown as Handlers)[method.localName]
      const request = create(method.input, input)
      const work = runWithContext(context, async () => handler?.(request, context))
      return create(method.output, await work.finally(cancel))
    }
    const message = await call(simulation, { caller, process, limitMs }, handle)
    return {
      message,
      method,
      service,
      stream: false,
      header: new Headers(),
      trailer: new Headers(),
    }
  }
  return createClient(service, { unary, stream } as unknown as Transport)
}

/** Runs `handle` in a process for another one. */
function call<T>(
  { scheduler, network, targeted, unexpected }: Simulation,
  { caller, process, limitMs }: { caller: Process; process: Process; limitMs: number },
  handle: () => Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Failure('TIMEOUT', 'no answer in time'))
    const cancel = scheduler.after(limitMs, late, caller)
    const answer = (settle: () => void): void => {
      if (network.isLost('message')) return
      const end = () => {
        cancel()
        settle()
      }
      scheduler.after(network.delayMs('service'), end, caller)
    }
    const fail = (error: unknown): void => {
      if (!(error instanceof Failure)) unexpected.push(`${process.name} failed: ${String(error)}`)
      // A cause stays where it is.
      const { reason = 'INTERNAL_ERROR', message } = error as Partial<Failure>
      answer(() => reject(new Failure(reason, String(message))))
    }
    const isLost = network.isLost('message')
    if (!process.isAlive || (isLost && scheduler.random.next() < 0.5)) {
      return answer(() => reject(refused()))
    }
    scheduler.after(0, () => targeted.onCall?.(caller))
    if (isLost) return
    const serve = () => handle().then((message) => answer(() => resolve(message)), fail)
    scheduler.after(network.delayMs('service'), serve, process)
  })
}
