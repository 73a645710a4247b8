// Makes one unary call in Connect's binary form straight on undici; it must not know callers, contexts or Failures.
//
// Every request of the API makes such a call. Connect's own client goes through streams, signals and header objects
// that nobody looks at; what travels is the same.

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
  headerTimeout,
  protocolVersion,
  trailerDemux,
  validateResponseWithCompression,
} from '@connectrpc/connect/protocol-connect'
import type { Dispatcher } from 'undici'

/** One call, ready to be sent. */
export interface UnaryCall<I extends DescMessage, O extends DescMessage> {
  method: DescMethodUnary<I, O>
  message: MessageInitShape<I>
  /** Names in lower case. */
  header: Record<string, string>
  /** 0 or less waits for ever. */
  timeoutMs: number
  signal: AbortSignal | undefined
  maxBytes: number
}

type AnswerHeaders = Record<string, string | string[] | undefined>
type Answer = { status: number; headers: AnswerHeaders; body: Uint8Array }

const versionHeader = headerProtocolVersion.toLowerCase()
const timeoutHeader = headerTimeout.toLowerCase()

/** Sends a call below `basePath` and reads its answer. Rejects with a ConnectError. */
export async function callUnary<I extends DescMessage, O extends DescMessage>(
  dispatcher: Dispatcher,
  basePath: string,
  call: UnaryCall<I, O>,
): Promise<UnaryResponse<I, O>> {
  const { method, header, timeoutMs, maxBytes } = call
  const body = serialized(method.input, call.message)
  if (body.byteLength > maxBytes) {
    throw new ConnectError(`message is over ${maxBytes} bytes`, Code.ResourceExhausted)
  }
  header['content-type'] = contentTypeUnaryProto
  header[versionHeader] = protocolVersion
  if (timeoutMs > 0) header[timeoutHeader] = String(timeoutMs)
  const path = `${basePath}/${method.parent.typeName}/${method.name}`
  const answer = await exchange(dispatcher, { path, method: 'POST', headers: header, body }, call)
  return new Answered(method, read(method, answer), answer.headers)
}

/** What a call gives back; a class, since each call makes one and hardly any looks at the headers. */
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

/** Header objects of what undici gives. */
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
  { status, headers, body }: Answer,
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

type Limits = Pick<UnaryCall<never, never>, 'timeoutMs' | 'signal' | 'maxBytes'>

function exchange(dispatcher: Dispatcher, request: Dispatcher.DispatchOptions, limits: Limits) {
  const one = new Exchange(limits)
  if (!one.isOver) dispatcher.dispatch(request, one)
  return one.answered
}

/** One request and its whole answer, until the time-out or the abort; a class, since each call makes one. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly answered: Promise<Answer>
  isOver = false
  readonly #limits: Limits
  readonly #settle: PromiseWithResolvers<Answer>
  readonly #timer: NodeJS.Timeout | undefined
  readonly #onAbort = () => this.#giveUp(this.#limits.signal?.reason, Code.Canceled)
  readonly #chunks: Buffer[] = []
  #length = 0
  #controller: Dispatcher.DispatchController | undefined
  #status = 0
  #headers: AnswerHeaders = {}

  constructor(limits: Limits) {
    const { timeoutMs, signal } = limits
    this.#limits = limits
    this.#settle = Promise.withResolvers()
    this.answered = this.#settle.promise
    if (timeoutMs > 0) {
      this.#timer = setTimeout(() => {
        this.#giveUp('the call took too long', Code.DeadlineExceeded)
      }, timeoutMs)
    }
    signal?.addEventListener('abort', this.#onAbort, { once: true })
    if (signal?.aborted === true) this.#onAbort()
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // It may have been given up while it waited for a connection.
    if (this.isOver) controller.abort(new Error('the call was given up'))
  }

  onResponseStart(_: unknown, status: number, headers: AnswerHeaders): void {
    this.#status = status
    this.#headers = headers
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    const { maxBytes } = this.#limits
    this.#chunks.push(chunk)
    this.#length += chunk.byteLength
    if (this.#length > maxBytes) {
      this.#giveUp(`the answer is over ${maxBytes} bytes`, Code.ResourceExhausted)
    }
  }

  onResponseEnd(): void {
    this.#end()
    const [only] = this.#chunks
    const isWhole = only !== undefined && this.#chunks.length === 1
    const body = isWhole ? only : Buffer.concat(this.#chunks, this.#length)
    this.#settle.resolve({ status: this.#status, headers: this.#headers, body })
  }

  onResponseError(_: unknown, error: Error): void {
    this.#end()
    this.#settle.reject(unreachable(error))
  }

  #giveUp(reason: unknown, code: Code): void {
    const error = ConnectError.from(reason, code)
    this.#end()
    this.#settle.reject(error)
    this.#controller?.abort(error)
  }

  #end(): void {
    this.isOver = true
    clearTimeout(this.#timer)
    this.#limits.signal?.removeEventListener('abort', this.#onAbort)
  }
}

/** The error of a call that the network swallowed. */
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
