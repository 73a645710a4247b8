// One unary request and its whole response, until its time-out or abort; read-only ones may be hedged.

import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  isMessage,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import { Code, ConnectError, type UnaryResponse } from '@connectrpc/connect'
import {
  contentTypeUnaryProto,
  errorFromJsonBytes,
  headerProtocolVersion,
  protocolVersion,
  trailerDemux,
  validateResponseWithCompression,
} from '@connectrpc/connect/protocol-connect'
import type { Dispatcher } from 'undici'
import type { StreamedHandler } from '../call-stream/client.ts'
import { timeoutHeader } from '../call-stream/messages.ts'
import {
  type HedgingDispatcher,
  hedgeAfterMs,
  hedgeCounts,
  OtherAnswered,
  type SentCall,
} from './hedging.ts'
import { NotSent } from './not-sent.ts'

/** Headers of an answer, as undici gives them. */
export type AnswerHeaders = Record<string, string | string[] | undefined>
/** A complete response. */
export type HttpResponse = { status: number; headers: AnswerHeaders; body: Uint8Array }

/** A request with its headers as an object. */
export interface ExchangeRequest extends Dispatcher.DispatchOptions {
  headers: Record<string, string>
}

/** The limits of one exchange: time, abort and size. */
export interface ExchangeLimits {
  /** 0 or less: no time-out. */
  timeoutMs: number
  signal: AbortSignal | undefined
  maxBytes: number
}

/**
 * Sends a request and resolves to its response. Rejects with a ConnectError: DeadlineExceeded after `timeoutMs`,
 * Canceled when the signal aborts (unless its reason is a ConnectError), ResourceExhausted for a response over
 * `maxBytes`, else Unavailable. Its cause is a NotSent when no replica can have seen the request.
 */
export function exchange(
  dispatcher: Dispatcher,
  request: ExchangeRequest,
  limits: ExchangeLimits,
): Promise<HttpResponse> {
  const one = new Exchange(request, limits, limits.timeoutMs)
  if (!one.isOver) dispatcher.dispatch(request, one.first)
  return one.answered
}

/**
 * As `exchange`, for a request that changes nothing: without a response after `hedgeAfterMs` it goes to a second
 * replica too, the first response counts, and the other request is cancelled. Rejects as `exchange` does.
 */
export function exchangeReadOnly(
  dispatcher: HedgingDispatcher,
  request: ExchangeRequest,
  limits: ExchangeLimits,
): Promise<HttpResponse> {
  const one = new Exchange(request, limits, Math.min(limits.timeoutMs, hedgeAfterMs))
  if (!one.isOver) one.sent = dispatcher.dispatchReadOnly(request, one.first)
  return one.answered
}

/** One request with its time-out, and with a second copy of it if it was hedged. A class, because each call makes one. */
class Exchange {
  readonly answered: Promise<HttpResponse>
  readonly first: Reply
  isOver = false
  /** Set for one that may be hedged. */
  sent: SentCall | undefined
  readonly limits: ExchangeLimits
  readonly #request: ExchangeRequest
  readonly #settle: PromiseWithResolvers<HttpResponse>
  #second: Reply | undefined
  #timer: NodeJS.Timeout | undefined
  readonly #onAbort = () => this.giveUp(this.limits.signal?.reason, Code.Canceled)

  /** `timerMs` is the time-out, or when it is time to hedge: one timer serves both. */
  constructor(request: ExchangeRequest, limits: ExchangeLimits, timerMs: number) {
    const { timeoutMs, signal } = limits
    this.#request = request
    this.limits = limits
    this.#settle = Promise.withResolvers()
    this.answered = this.#settle.promise
    this.first = new Reply(this)
    if (timeoutMs > 0) this.#startTimer(timerMs, timeoutMs - timerMs)
    signal?.addEventListener('abort', this.#onAbort, { once: true })
    if (signal?.aborted === true) this.#onAbort()
  }

  /**
   * The event loop runs timers before it reads sockets. If this process was blocked, the response may have arrived already, so
   * `setImmediate` lets it be read before the time-out counts.
   */
  #startTimer(afterMs: number, leftMs: number): void {
    this.#timer = setTimeout(() => {
      setImmediate(() => this.#onTimer(leftMs))
    }, afterMs)
  }

  #onTimer(leftMs: number): void {
    if (this.isOver) return
    if (leftMs <= 0) {
      this.giveUp('the call took too long', Code.DeadlineExceeded)
      return
    }
    this.#startTimer(leftMs, 0)
    if (this.first.hasBegun || this.sent === undefined) return
    const headers = { ...this.#request.headers, [timeoutHeader]: String(Math.ceil(leftMs)) }
    const second = new Reply(this)
    this.#second = second
    if (!this.sent.hedge({ ...this.#request, headers }, second)) this.#second = undefined
  }

  /**
   * Called when a response is complete. A response of `inconclusive` does not count while the other replica may still respond.
   */
  replied(reply: Reply, answer: HttpResponse): void {
    if (inconclusive.has(answer.status) && this.#waitsForOther(reply)) return
    this.#end(reply === this.#second ? 'won' : 'lost')
    this.#settle.resolve(answer)
  }

  /** This request failed; the exchange fails unless the other one may still be answered. */
  failed(reply: Reply, error: Error): void {
    if (this.#waitsForOther(reply)) return
    this.#end('failed')
    this.#settle.reject(unreachable(this.#isSent ? error : new NotSent(error)))
  }

  giveUp(reason: unknown, code: Code): void {
    if (this.isOver) return
    const given = ConnectError.from(reason, code)
    const error = this.#isSent ? given : notSent(given.rawMessage, given.code, reason)
    this.#settle.reject(error)
    this.#end('failed', error)
  }

  /** Whether a replica may have seen the request. */
  get #isSent(): boolean {
    return this.first.isSent || this.#second?.isSent === true
  }

  #waitsForOther(reply: Reply): boolean {
    const other = reply === this.first ? this.#second : this.first
    return other !== undefined && !other.isOver
  }

  #end(outcome: 'won' | 'lost' | 'failed', reason?: Error): void {
    this.isOver = true
    clearTimeout(this.#timer)
    this.limits.signal?.removeEventListener('abort', this.#onAbort)
    if (this.#second !== undefined) hedgeCounts[outcome] += 1
    this.first.giveUp(reason)
    this.#second?.giveUp(reason)
  }
}

/** Statuses that say nothing about the call: the replica is overloaded, cannot work now, or ran out of time. */
const inconclusive = new Set([429, 503, 504])

/** What one replica answers; a class, since each call makes one. */
class Reply implements StreamedHandler {
  isOver = false
  /** The replica may have seen the request. */
  isSent = false
  readonly #exchange: Exchange
  readonly #chunks: Buffer[] = []
  #length = 0
  #controller: Dispatcher.DispatchController | undefined
  #status = 0
  #headers: AnswerHeaders = {}

  constructor(ofExchange: Exchange) {
    this.#exchange = ofExchange
  }

  /** Whether the head of the response has arrived. */
  get hasBegun(): boolean {
    return this.#status > 0
  }

  /** Cancels the request, unless it is over. */
  giveUp(reason: Error | undefined): void {
    if (this.isOver) return
    this.isOver = true
    this.#controller?.abort(reason ?? new OtherAnswered('another replica has answered'))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // The call may have been given up while it waited for a connection.
    if (this.isOver) controller.abort(new Error('the call was given up'))
    else this.isSent = true
  }

  /** The replica has not begun the request, so it is sent over another connection. */
  onReturned(): void {
    this.isSent = false
  }

  onResponseStart(_: unknown, status: number, headers: AnswerHeaders): void {
    this.#status = status
    this.#headers = headers
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    if (this.isOver) return
    const { maxBytes } = this.#exchange.limits
    this.#chunks.push(chunk)
    this.#length += chunk.byteLength
    if (this.#length > maxBytes) {
      this.#exchange.giveUp(`the answer is over ${maxBytes} bytes`, Code.ResourceExhausted)
    }
  }

  onResponseEnd(): void {
    if (this.isOver) return
    this.isOver = true
    const [only] = this.#chunks
    const isWhole = only !== undefined && this.#chunks.length === 1
    const body = isWhole ? only : Buffer.concat(this.#chunks, this.#length)
    this.#exchange.replied(this, { status: this.#status, headers: this.#headers, body })
  }

  onResponseError(_: unknown, error: Error): void {
    if (this.isOver) return
    this.isOver = true
    this.#exchange.failed(this, error)
  }
}

/** Makes (does not throw) the error of a call that was not sent. */
export function notSent(message: string, code: Code, cause?: unknown): ConnectError {
  return new ConnectError(message, code, undefined, undefined, new NotSent(cause))
}

/**
 * Makes (does not throw) the error of a call without a response: Unavailable, or the ConnectError that it is already.
 */
export function unreachable(cause: unknown): ConnectError {
  if (cause instanceof ConnectError) return cause
  return new ConnectError(
    'no answer from the other side',
    Code.Unavailable,
    undefined,
    undefined,
    cause,
  )
}

/** One call, ready to be sent. */
export interface UnaryCall<I extends DescMessage, O extends DescMessage> extends ExchangeLimits {
  method: DescMethodUnary<I, O>
  path: string
  message: MessageInitShape<I>
  /** Names in lower case. */
  header: Record<string, string>
  /** Given for a call that changes nothing and so may be sent to a second replica. */
  hedging?: HedgingDispatcher | undefined
}

const versionHeader = headerProtocolVersion.toLowerCase()

/**
 * Sends a call and reads its response. Rejects with a ConnectError: the callee's, those of `exchange`,
 * ResourceExhausted for a request over `maxBytes`, Internal for a message that cannot be encoded or decoded.
 */
export async function callUnary<I extends DescMessage, O extends DescMessage>(
  dispatcher: Dispatcher,
  call: UnaryCall<I, O>,
): Promise<UnaryResponse<I, O>> {
  const { method, path, header, timeoutMs, maxBytes } = call
  const body = serialized(method.input, call.message)
  if (body.byteLength > maxBytes) {
    throw new ConnectError(`message is over ${maxBytes} bytes`, Code.ResourceExhausted)
  }
  header['content-type'] = contentTypeUnaryProto
  header[versionHeader] = protocolVersion
  if (timeoutMs > 0) header[timeoutHeader] = String(timeoutMs)
  const request = { path, method: 'POST' as const, headers: header, body }
  const answer = await (call.hedging === undefined
    ? exchange(dispatcher, request, call)
    : exchangeReadOnly(call.hedging, request, call))
  return new Answered(method, read(method, answer), answer.headers)
}

/** The response of a call. A class, because each call makes one, and with getters, because few callers read the headers. */
class Answered<I extends DescMessage, O extends DescMessage> implements UnaryResponse<I, O> {
  readonly stream = false
  readonly method: DescMethodUnary<I, O>
  readonly message: MessageShape<O>
  readonly #headers: AnswerHeaders

  constructor(method: DescMethodUnary<I, O>, message: MessageShape<O>, headers: AnswerHeaders) {
    this.method = method
    this.message = message
    this.#headers = headers
  }

  get service() {
    return this.method.parent
  }

  get header(): Headers {
    return trailerDemux(webHeaders(this.#headers))[0]
  }

  get trailer(): Headers {
    return trailerDemux(webHeaders(this.#headers))[1]
  }
}

/** Converts undici's headers. */
export function webHeaders(headers: AnswerHeaders): Headers {
  const result = new Headers()
  for (const name in headers) {
    const value = headers[name]
    if (typeof value === 'string') result.set(name, value)
    else for (const item of value ?? []) result.append(name, item)
  }
  return result
}

function serialized<D extends DescMessage>(type: D, message: MessageInitShape<D>): Uint8Array {
  try {
    return toBinary(type, isMessage(message, type) ? message : create(type, message))
  } catch (error) {
    throw ConnectError.from(error, Code.Internal)
  }
}

function read<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  { status, headers, body }: HttpResponse,
): MessageShape<O> {
  const isPlain =
    headers['content-type'] === contentTypeUnaryProto && headers['content-encoding'] === undefined
  if (status !== 200 || !isPlain) {
    const header = webHeaders(headers)
    const checked = validateResponseWithCompression(method.methodKind, [], true, status, header)
    if (checked.isUnaryError) throw errorFromJsonBytes(body, header, checked.unaryError)
  }
  try {
    return fromBinary(method.output, body)
  } catch (error) {
    throw ConnectError.from(error, Code.Internal)
  }
}
