// Answers a unary call in Connect's binary form straight on node's request and response; it must not decide who may call.
//
// It takes the plain case alone: whatever has a body of unknown or too great length, another encoding or a malformed
// time-out is left to Connect, which refuses it in its own words. What travels is the same.

import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  create,
  type DescMethodUnary,
  fromBinary,
  isMessage,
  type Message,
  toBinary,
} from '@bufbuild/protobuf'
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ContextValues,
  type HandlerContext,
} from '@connectrpc/connect'
import {
  codeToHttpStatus,
  contentTypeUnaryJson,
  contentTypeUnaryProto,
  errorToJsonBytes,
} from '@connectrpc/connect/protocol-connect'
import type { CallLog } from './call-log.ts'
import { answerWithin } from './interceptor.ts'
import type { ServedCall } from './served-call.ts'

type Implementation = (message: Message, context: HandlerContext) => unknown
type Unary = { method: DescMethodUnary; answer: Implementation }

/** Answers a call that was admitted; false when Connect has to. */
export type TakeUnary = (
  request: IncomingMessage,
  response: ServerResponse,
  call: ServedCall,
  values: () => ContextValues,
) => boolean

/** The unary methods of the services that were registered, by path. */
export type UnaryMethods = Map<string, Unary>

/**
 * A router that also notes the unary methods of its services. Options of a service are known to Connect alone, so its
 * methods are noted only when these are said to be for its streams.
 */
export function notingUnary(
  router: ConnectRouter,
  methods: UnaryMethods,
  optionsAreForStreams = false,
): ConnectRouter {
  const noting: ConnectRouter = {
    ...router,
    service(service, implementation, options) {
      router.service(service, implementation, options)
      for (const method of service.methods) {
        const answer = (implementation as Record<string, unknown>)[method.localName]
        if (method.methodKind !== 'unary' || typeof answer !== 'function') continue
        if (options !== undefined && !optionsAreForStreams) continue
        methods.set(`/${service.typeName}/${method.name}`, {
          method: method as DescMethodUnary,
          answer: answer.bind(implementation) as Implementation,
        })
      }
      return noting
    },
  }
  return noting
}

const nothing = new Uint8Array(0)
const mostJoinedBytes = 16 * 1024
const timeoutPattern = /^\d{1,10}$/

/** Makes the handler of the noted methods. */
export function unaryHandler(methods: UnaryMethods, log: CallLog, maxBytes: number): TakeUnary {
  return (request, response, call, values) => {
    const unary = methods.get(request.url ?? '')
    if (unary === undefined || !isPlain(request, maxBytes)) return false
    const timeoutMs = Number(request.headers['connect-timeout-ms'])
    const context = new UnaryContext(unary.method, request, values, timeoutMs)
    let isAnswering = false
    const go = (body: Uint8Array): void => {
      if (isAnswering) return
      isAnswering = true
      void answer(unary, body, { call, context, log, maxBytes }, response)
    }
    // Also a call whose body is still on its way ends in time.
    context.onAbort = () => go(nothing)
    response.once('close', () => {
      if (!response.writableFinished) context.abort('the caller went away', Code.Canceled)
    })
    readBody(request, go)
    return true
  }
}

function isPlain({ method, headers }: IncomingMessage, maxBytes: number): boolean {
  return (
    method === 'POST' &&
    headers['content-type'] === contentTypeUnaryProto &&
    headers['content-encoding'] === undefined &&
    headers['transfer-encoding'] === undefined &&
    Number(headers['content-length'] ?? Number.NaN) <= maxBytes &&
    timeoutPattern.test(String(headers['connect-timeout-ms']))
  )
}

/** Of a body that breaks off nothing is handed on: the end of its connection aborts the call. */
function readBody(request: IncomingMessage, done: (body: Uint8Array) => void): void {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => void chunks.push(chunk))
  request.once('end', () => {
    const [only] = chunks
    done(only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks))
  })
  request.once('error', () => undefined)
}

type Answering = { call: ServedCall; context: UnaryContext; log: CallLog; maxBytes: number }

async function answer(
  { method, answer }: Unary,
  body: Uint8Array,
  { call, context, log, maxBytes }: Answering,
  response: ServerResponse,
): Promise<void> {
  try {
    if (context.abortedBy !== undefined) throw log.failed(call, context.abortedBy)
    const message = parse(method, body)
    const made = await answerWithin(call, context, log, async () => answer(message, context))
    const bytes = serialize(method, made as Message)
    if (bytes.byteLength > maxBytes) {
      throw new ConnectError(`message is over ${maxBytes} bytes`, Code.ResourceExhausted)
    }
    write(response, 200, contentTypeUnaryProto, bytes, context)
  } catch (thrown) {
    const error = thrown instanceof ConnectError ? thrown : log.failed(call, thrown)
    const status = codeToHttpStatus(error.code)
    log.refused(call, { status })
    error.metadata.forEach((value, name) => context.responseHeader.set(name, value))
    write(response, status, contentTypeUnaryJson, errorToJsonBytes(error, undefined), context)
  } finally {
    context.end()
  }
}

function parse(method: DescMethodUnary, body: Uint8Array): Message {
  try {
    return fromBinary(method.input, body)
  } catch {
    throw new ConnectError('the message is malformed', Code.Internal)
  }
}

function serialize({ output }: DescMethodUnary, made: Message): Uint8Array {
  return toBinary(output, isMessage(made, output) ? made : create(output, made))
}

function write(
  response: ServerResponse,
  status: number,
  contentType: string,
  body: Uint8Array,
  context: UnaryContext,
): void {
  if (response.destroyed) return
  const headers = context.writtenHeaders()
  headers['content-type'] = contentType
  headers['content-length'] = String(body.byteLength)
  response.writeHead(status, headers)
  if (body.byteLength > mostJoinedBytes) response.end(body)
  else {
    // Bytes as characters of one byte each join the head in one write to the system.
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    response.end(bytes.toString('latin1'), 'latin1')
  }
}

/** What a handler sees of its call; a class, since each call makes one and few look at its parts. */
class UnaryContext implements HandlerContext {
  readonly method: DescMethodUnary
  /** Called once, when the time is up or the caller has gone. */
  onAbort: (reason: ConnectError) => void = () => undefined
  readonly requestMethod = 'POST'
  readonly protocolName = 'connect'
  readonly #request: IncomingMessage
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
    request: IncomingMessage,
    values: () => ContextValues,
    timeoutMs: number,
  ) {
    this.method = method
    this.#request = request
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
    return `http://${this.#request.headers.host}${this.#request.url}`
  }

  /** Few handlers look at it, so it is made for those. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#abortedBy !== undefined) this.#controller.abort(this.#abortedBy)
    }
    return this.#controller.signal
  }

  /** Why nobody waits any more. */
  get abortedBy(): ConnectError | undefined {
    return this.#abortedBy
  }

  timeoutMs = (): number => this.#deadlineMs - Date.now()

  get values(): ContextValues {
    this.#kept ??= this.#values()
    return this.#kept
  }

  get requestHeader(): Headers {
    const header = new Headers()
    for (const [name, value] of Object.entries(this.#request.headersDistinct)) {
      for (const item of value ?? []) header.append(name, item)
    }
    return header
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
  writtenHeaders(): Record<string, string> {
    const written: Record<string, string> = {}
    this.#responseHeader?.forEach((value, name) => {
      written[name] = value
    })
    this.#responseTrailer?.forEach((value, name) => {
      written[`trailer-${name}`] = value
    })
    return written
  }

  abort(reason: string, code: Code): void {
    clearTimeout(this.#timer)
    if (this.#abortedBy !== undefined) return
    const error = new ConnectError(reason, code)
    this.#abortedBy = error
    this.#controller?.abort(error)
    this.onAbort(error)
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}
