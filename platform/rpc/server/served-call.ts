// The context of a call that this process is answering.

import { createContextKey } from '@connectrpc/connect'
import type { Span } from '#platform/telemetry/spans.ts'
import { childTraceparent } from '#platform/telemetry/trace.ts'
import type { CallContext, Caller } from '../context.ts'
import type { Lease } from '../limits/byte-budget.ts'
import type { Connection } from './connection.ts'

/** What the server knows of a method before any call. */
export interface Rpc {
  /** `pkg.Service/Method`, or `unknown`. */
  name: string
  /** No credential is needed. */
  open: boolean
  /** Whether a caller may call the method. */
  permits(caller: Caller): boolean
  /** Largest request message. */
  maxMessageBytes: number
  /** The request is one message, so the length of its body is known from the start. */
  takesOneMessage: boolean
  /** Used when the caller names no time; absent for streams that last. */
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

  /** Created on demand, for handlers that pass it on; a read does not. */
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

  /** Notes that the call was answered; returns false when that was noted before. */
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
