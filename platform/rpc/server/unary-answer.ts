// Answers a unary call whose message is complete, over any transport.

import {
  create,
  type DescMethodUnary,
  fromBinary,
  isMessage,
  type Message,
  toBinary,
} from '@bufbuild/protobuf'
import { Code, ConnectError, type ContextValues, type HandlerContext } from '@connectrpc/connect'
import {
  codeToHttpStatus,
  contentTypeUnaryJson,
  contentTypeUnaryProto,
  errorToJsonBytes,
} from '@connectrpc/connect/protocol-connect'
import type { Failure } from '#core/errors/errors.ts'
import { malformed, retryAfterOf, withReason } from '../errors.ts'
import { messageTooLarge } from '../limits/limits.ts'
import { answerWithin, type Unary } from './handlers.ts'
import type { CallLog, ServedCall } from './served-call.ts'

const nothing = Promise.resolve()
const timeoutPattern = /^\d{1,10}$/

/** Whether the value of a time-out header has Connect's form: up to ten digits, in milliseconds. */
export function isTimeout(text: unknown): boolean {
  return timeoutPattern.test(String(text))
}

/** Headers, trailers included, in Connect's form over HTTP. */
export type AnswerHeaders = Record<string, string>

/** Writes the answer to the transport of the call: an HTTP status, headers and a body. */
export type WriteAnswer = (status: number, headers: AnswerHeaders, body: Uint8Array) => void

/** What answering needs beside the method and its message. */
export type Answering = {
  call: ServedCall
  context: UnaryContext
  log: CallLog
  /** Maximum bytes of a response. */
  maxBytes: number
}

/**
 * Runs the handler until its deadline and writes the response, or the error that `CallLog.failed` makes. Never rejects.
 */
export async function answerUnary(
  { method, answer }: Unary,
  body: Uint8Array,
  { call, context, log, maxBytes }: Answering,
  write: WriteAnswer,
): Promise<void> {
  try {
    if (context.abortedBy !== undefined) throw log.failed(call, context.abortedBy)
    const message = parse(method, body)
    const made = await answerWithin(call, context, log, () => {
      context.work = run(answer, message, context)
      return context.work
    })
    const bytes = serialize(method, made as Message)
    if (bytes.byteLength > maxBytes) throw messageTooLarge(maxBytes)
    write(200, context.writtenHeaders(contentTypeUnaryProto), bytes)
  } catch (thrown) {
    const error = thrown instanceof ConnectError ? withReason(thrown) : log.failed(call, thrown)
    writeError(error, context, write)
  } finally {
    context.end()
  }
}

/** Writes the refusal of a call whose handler was not called. */
export function refuseUnary(
  failure: Failure,
  { call, context, log }: Answering,
  write: WriteAnswer,
): void {
  writeError(log.failed(call, failure), context, write)
  context.end()
}

function writeError(error: ConnectError, context: UnaryContext, write: WriteAnswer): void {
  error.metadata.forEach((value, name) => context.responseHeader.set(name, value))
  const headers = { ...context.writtenHeaders(contentTypeUnaryJson), ...retryAfterOf(error) }
  write(codeToHttpStatus(error.code), headers, errorToJsonBytes(error, undefined))
}

async function run(answer: Unary['answer'], message: Message, context: HandlerContext) {
  return answer(message, context)
}

function parse(method: DescMethodUnary, body: Uint8Array): Message {
  try {
    return fromBinary(method.input, body)
  } catch (error) {
    throw malformed('the message cannot be decoded', error)
  }
}

function serialize({ output }: DescMethodUnary, made: Message): Uint8Array {
  return toBinary(output, isMessage(made, output) ? made : create(output, made))
}

/** The head of a call; few handlers read it. */
export interface CallHead {
  readonly url: string
  readonly header: Headers
}

/** What a handler sees of its call; a class, since each call makes one and few read its parts. */
export class UnaryContext implements HandlerContext {
  readonly method: DescMethodUnary
  /** Called once, when the time is up or the caller has gone. */
  onAbort: (reason: ConnectError) => void = () => undefined
  /** The work of the handler, also after its call was cancelled. */
  work: Promise<unknown> = nothing
  readonly requestMethod = 'POST'
  readonly protocolName = 'connect'
  readonly #head: CallHead
  readonly #values: () => ContextValues
  #controller: AbortController | undefined
  readonly #deadlineMs: number
  readonly #timer: NodeJS.Timeout
  #abortedBy: ConnectError | undefined
  #kept: ContextValues | undefined
  #responseHeader: Headers | undefined
  #responseTrailer: Headers | undefined

  constructor(
    method: DescMethodUnary,
    head: CallHead,
    values: () => ContextValues,
    timeoutMs: number,
  ) {
    this.method = method
    this.#head = head
    this.#values = values
    this.#deadlineMs = Date.now() + timeoutMs
    this.#timer = setTimeout(() => {
      this.abort('the operation timed out', Code.DeadlineExceeded)
    }, timeoutMs)
  }

  get service() {
    return this.method.parent
  }

  get url(): string {
    return this.#head.url
  }

  /** Few handlers read it, so it is created on demand. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#abortedBy !== undefined) this.#controller.abort(this.#abortedBy)
    }
    return this.#controller.signal
  }

  /** Why the call was cancelled. */
  get abortedBy(): ConnectError | undefined {
    return this.#abortedBy
  }

  timeoutMs = (): number => this.#deadlineMs - Date.now()

  get values(): ContextValues {
    this.#kept ??= this.#values()
    return this.#kept
  }

  get requestHeader(): Headers {
    return this.#head.header
  }

  get responseHeader(): Headers {
    this.#responseHeader ??= new Headers()
    return this.#responseHeader
  }

  get responseTrailer(): Headers {
    this.#responseTrailer ??= new Headers()
    return this.#responseTrailer
  }

  /** Headers and trailers that the handler has set, in Connect's form. */
  writtenHeaders(contentType: string): AnswerHeaders {
    const written: AnswerHeaders = {}
    this.#responseHeader?.forEach((value, name) => {
      written[name] = value
    })
    this.#responseTrailer?.forEach((value, name) => {
      written[`trailer-${name}`] = value
    })
    written['content-type'] = contentType
    return written
  }

  /** Cancels the call, once; later calls do nothing. */
  abort(reason: string, code: Code): void {
    clearTimeout(this.#timer)
    if (this.#abortedBy !== undefined) return
    const error = new ConnectError(reason, code)
    this.#abortedBy = error
    this.#controller?.abort(error)
    this.onAbort(error)
  }

  /** Stops the timer of the deadline. */
  end(): void {
    clearTimeout(this.#timer)
  }
}
