// The context of a call that this process is answering, and how calls are logged and counted.
import { Code, ConnectError, createContextKey } from '@connectrpc/connect'
import { Gauge, Histogram, type Registry } from 'prom-client'
import { Failure } from '#core/errors/errors.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { childTraceparent, endRpcServerSpan, type Span } from '#platform/telemetry/spans.ts'
import type { CallContext, Caller } from '../context.ts'
import {
  callerGone,
  internalConnectError,
  statusName,
  toConnectError,
  withReason,
} from '../errors.ts'
import type { Connection, Lease } from '../limits/limits.ts'

/** What the server knows of a method before any call. */
export interface Rpc {
  /** `pkg.Service/Method`, or `unknown`. */
  name: string
  /** No credential is needed. */
  open: boolean
  /** Whether a caller may call the method. */
  permits(caller: Caller): boolean
  /** Maximum bytes of a request message. */
  maxMessageBytes: number
  /** The request is one message, so the length of its body is known from the start. */
  takesOneMessage: boolean
  /** Time-out of a call without one of its own; absent for streams that last. */
  defaultTimeoutMs: number | undefined
  maxTimeoutMs: number
}

/**
 * One call being answered. A class, since one is made for every call and most of them never ask for the
 * signal. Its signal follows the request's, but stays silent when the call ends well: Connect aborts then
 * too, and work that the call left running would lose its own calls.
 */
export class ServedCall implements CallContext {
  readonly rpc: Rpc
  readonly requestId: string
  readonly deadline: number | undefined
  readonly caller: Caller | undefined
  /** Absent while traces are off. */
  readonly span: Span | undefined
  readonly startedMs = performance.now()
  /** What carries a call over HTTP/2, where a body that breaks off ends like any other. */
  stream: { readonly aborted: boolean } | undefined
  /** The connection of the call; absent until it was admitted. */
  connection: Connection | undefined
  /** The bytes that its request may hold; absent until it was admitted. */
  lease: Lease | undefined
  #source: { readonly signal: AbortSignal } | undefined
  #controller: AbortController | undefined
  #ended = false
  readonly #parentTrace: string | undefined
  #traceparent: string | undefined

  constructor(
    rpc: Rpc,
    requestId: string,
    parentTrace: string | undefined,
    deadline: number | undefined,
    caller: Caller | undefined,
    span?: Span,
  ) {
    this.rpc = rpc
    this.requestId = requestId
    this.#parentTrace = parentTrace
    this.#traceparent = span?.traceparent
    this.deadline = deadline
    this.caller = caller
    this.span = span
  }

  /** Created on demand, because many calls need none. */
  get traceparent(): string {
    this.#traceparent ??= childTraceparent(this.#parentTrace)
    return this.#traceparent
  }

  /** Ties the call to the signal of its request, which is created only when it is read. */
  begin(source: { readonly signal: AbortSignal }): void {
    this.#source = source
  }

  /** Whether silence is normal: a watch sends nothing while nothing changes. */
  get isSilent(): boolean {
    return this.rpc.defaultTimeoutMs === undefined
  }

  get isEnded(): boolean {
    return this.#ended
  }

  /** Records that the call was answered; returns false when that was recorded before. */
  end(): boolean {
    if (this.#ended) return false
    this.#ended = true
    return true
  }

  get signal(): AbortSignal | undefined {
    if (this.#source === undefined || this.#ended) return undefined
    if (this.#controller !== undefined) return this.#controller.signal
    const source = this.#source.signal
    const controller = new AbortController()
    this.#controller = controller
    const follow = () => {
      if (!this.#ended) controller.abort(source.reason)
    }
    if (source.aborted) follow()
    else source.addEventListener('abort', follow, { once: true })
    return controller.signal
  }
}

/** Where the server puts the call before Connect runs, and finds it when the handler is due. */
export const servedCallKey = createContextKey<ServedCall | undefined>(undefined, {
  description: 'the call being answered',
})

/** Counts and times calls by method (`pkg.Service/Method`) and gRPC status name, and counts those in flight. */
export interface RpcMetrics {
  /** Records that the handler of a unary call is about to run. */
  began(): void
  /** Records that a call that began has its answer or its error. */
  ended(): void
  /** Records one answered call; `durationMs` runs from its headers to its answer. */
  observe(method: string, code: string, durationMs: number): void
}

/**
 * Counts and times RPCs by method (`pkg.Service/Method`) and gRPC status name, and shows how many are in flight. `observe` takes
 * milliseconds; the metric is in seconds. Throws an Error when the registry has the metrics.
 */
export function rpcMetrics(registry: Registry): RpcMetrics {
  const duration = new Histogram({
    name: 'payweave_rpc_duration_seconds',
    help: 'Time from the arrival of an RPC to its response.',
    labelNames: ['method', 'code'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  })
  let inFlight = 0
  void new Gauge({
    name: 'payweave_rpc_requests_in_flight',
    help: 'Unary RPCs in flight. Streams are not counted.',
    registers: [registry],
    collect() {
      this.set(inFlight)
    },
  })
  // Two levels, by method and then by code: joining both into one key would cost more per call than counting it.
  const known = new Map<string, Map<string, Histogram.Internal<'method' | 'code'>>>()
  return {
    began() {
      inFlight += 1
    },
    ended() {
      inFlight -= 1
    },
    observe(method, code, durationMs) {
      const byCode = known.get(method) ?? new Map<string, Histogram.Internal<'method' | 'code'>>()
      known.set(method, byCode)
      let found = byCode.get(code)
      if (found === undefined) {
        found = duration.labels({ method, code })
        byCode.set(code, found)
      }
      found.observe(durationMs / 1_000)
    },
  }
}

/** Where answered calls are written down. */
export interface CallLog {
  /** Records that the handler of a unary call is about to run; each call of it is followed by one of `ended`. */
  began(): void
  /** Records that the call has its answer or its error. */
  ended(): void
  /** Records that the call ended well; later records of the same call are ignored. */
  answered(call: ServedCall): void
  /**
   * Records that the call failed, and returns (does not throw) the error that its caller is to see: a bug becomes
   * INTERNAL_ERROR.
   */
  failed(call: ServedCall, thrown: unknown): ConnectError
}

/** Makes the log of calls of one server. */
export function createCallLog(log: Logger, metrics: RpcMetrics | undefined): CallLog {
  function write(call: ServedCall, code: string, level: 'debug' | 'info', reason?: string): void {
    const durationMs = performance.now() - call.startedMs
    metrics?.observe(call.rpc.name, code, durationMs)
    endRpcServerSpan(call.span, code)
    log[level]({ ...factsOf(call), code, reason, durationMs: round(durationMs) }, 'rpc answered')
  }
  return {
    began: () => metrics?.began(),
    ended: () => metrics?.ended(),
    answered(call) {
      if (call.end()) write(call, 'ok', 'debug')
    },
    failed(call, thrown) {
      const first = call.end()
      if (thrown instanceof Failure) {
        const error = toConnectError(thrown)
        if (first) write(call, statusName(error.code), 'info', thrown.reason)
        return error
      }
      const error = expectedError(thrown)
      if (error !== undefined) {
        if (first) write(call, statusName(error.code), 'info')
        return error
      }
      if (first) {
        const durationMs = performance.now() - call.startedMs
        metrics?.observe(call.rpc.name, statusName(Code.Internal), durationMs)
        endRpcServerSpan(call.span, statusName(Code.Internal))
        log.error(
          {
            ...factsOf(call),
            code: statusName(Code.Internal),
            durationMs: round(durationMs),
            err: thrown,
          },
          'rpc failed unexpectedly',
        )
      }
      return internalConnectError(thrown)
    },
  }
}

function factsOf({ rpc, requestId, caller }: ServedCall) {
  return { rpc: rpc.name, requestId, caller: caller?.name }
}

function round(durationMs: number): number {
  return Math.round(durationMs * 10) / 10
}

// Expected errors that are no Failure: Connect's own refusals, and the abort of a disconnected caller.
function expectedError(thrown: unknown): ConnectError | undefined {
  if (thrown instanceof ConnectError) {
    return thrown.code === Code.Internal || thrown.code === Code.Unknown
      ? undefined
      : withReason(thrown)
  }
  if (thrown instanceof Error && thrown.name === 'AbortError') {
    return toConnectError(callerGone(thrown))
  }
  return undefined
}
