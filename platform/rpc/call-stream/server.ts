// Serves call streams: many small unary calls over one gRPC stream. They pass the same admission and handlers as calls
// over HTTP.

import {
  constants,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Stream,
} from 'node:http2'
import { fromBinary } from '@bufbuild/protobuf'
import { Code, type ConnectError, createContextValues } from '@connectrpc/connect'
import { codeToHttpStatus, errorToJsonBytes } from '@connectrpc/connect/protocol-connect'
import { setTrailerStatus } from '@connectrpc/connect/protocol-grpc'
import { Failure } from '#core/errors/errors.ts'
import {
  CallService,
  type StreamCallsRequest,
  StreamCallsRequestSchema,
} from '#gen/payweave/rpc/v1/call_pb.js'
import { type Peer, peerOf, peerRefusal } from '../auth/tls.ts'
import { runDetached } from '../context.ts'
import { callerGone, internalConnectError, malformed } from '../errors.ts'
import { type Connection, messageTooLarge, tooManyBytes, tooManyCalls } from '../limits/limits.ts'
import { resetUnread } from '../limits/unread.ts'
import { oldName } from '../old-names.ts'
import type { Admit } from '../server/admission.ts'
import type { UnaryMethods } from '../server/handlers.ts'
import { refuse } from '../server/refusal.ts'
import { type CallLog, type ServedCall, servedCallKey } from '../server/served-call.ts'
import {
  type AnswerHeaders,
  answerUnary,
  type CallHead,
  UnaryContext,
} from '../server/unary-answer.ts'
import { rulesCheck } from '../validation/request-rules.ts'
import {
  callStreamPath,
  headersOf,
  MessageQueue,
  MessageReader,
  maxHeadBytes,
  maxStreamedBytes,
  surelyFollowsRules,
} from './messages.ts'

const streamPaths = new Set([callStreamPath, oldName(callStreamPath)])

/** Dependencies of the call-stream server. */
export interface CallStreamOptions {
  methods: UnaryMethods
  admit: Admit
  /** Whether calls are checked against the certificate of their connection. */
  isGuarded: boolean
  log: CallLog
  /** Maximum bytes of a response message. */
  maxBytes: number
  /** Milliseconds that the peer has to drain responses. */
  stalledMs: number
}

/** The call streams of a server. */
export interface CallStreams {
  /**
   * Serves a stream whose own call was admitted; false, untouched, for any other call. Never throws.
   */
  serve(call: ServedCall, request: Http2ServerRequest, response: Http2ServerResponse): boolean
  /** Sends `draining` to all clients. Calls that they have sent before are still answered. */
  leave(): void
  /** Begins no more calls. Those in flight are answered; a stream without calls is ended after a second. */
  stop(): void
}

const grpcTypes = new Set(['application/grpc', 'application/grpc+proto'])
const maxRequestBytes = maxHeadBytes + maxStreamedBytes
/** Maximum streams of the server, because each costs a connection; further peers use HTTP. */
const maxStreams = 128
/** Maximum calls in flight over a stream; more are not read until one ends. */
const maxInFlight = 1_024
/** Maximum bytes of responses that the peer has not read yet; with more its calls are not read. */
const maxUnreadBytes = 1024 * 1024
/** Maximum time from the first byte of a message to its last. */
const messageTimeoutMs = 30_000
/** Longer than a client keeps a stream, so that the server never cuts one that the client is about to use. */
const idleMs = 660_000
/** Pause before the server ends its streams: a client that got `draining` ends its own before. */
const endGraceMs = 1_000

const checkRules = rulesCheck(CallService.method.streamCalls)

/** Makes the server of call streams. */
export function createCallStreams(options: CallStreamOptions): CallStreams {
  const streams = new Set<ServedStream>()
  let isLeaving = false
  return {
    serve(call, request, response) {
      if (!streamPaths.has(request.url)) return false
      if (!grpcTypes.has(request.headers['content-type'] ?? '')) return false
      if (isLeaving) reject(new Failure('SERVICE_UNAVAILABLE', 'the server stops'))
      else if (streams.size >= maxStreams) reject(tooManyCalls())
      // Reserved while the stream is open: an incomplete message takes no more than this.
      else if (call.lease?.resize(maxRequestBytes) !== true) reject(tooManyBytes())
      else {
        const stream = new ServedStream(call, request, response, options)
        streams.add(stream)
        request.stream.once('close', () => streams.delete(stream))
      }
      return true

      function reject(failure: Failure): void {
        refuse(request, response, options.log.failed(call, failure))
        resetUnread(request.stream)
        // The connection was opened for this stream only, and costs more memory than it.
        request.stream.session?.close()
      }
    },
    leave() {
      isLeaving = true
      for (const stream of streams) stream.leave()
    },
    stop() {
      isLeaving = true
      for (const stream of streams) stream.stop()
    },
  }
}

/** One stream. */
class ServedStream {
  readonly #call: ServedCall
  readonly #stream: ServerHttp2Stream
  readonly #response: Http2ServerResponse
  readonly #options: CallStreamOptions
  readonly #connection: Connection | undefined
  readonly #peer: Peer | undefined
  readonly #calls = new Map<number, UnaryContext>()
  readonly #reader = new MessageReader(maxRequestBytes, (message) => this.#onMessage(message))
  readonly #responses = new MessageQueue()
  /** Runs while a message is incomplete. */
  #messageTimer: NodeJS.Timeout | undefined
  /** Runs while the peer does not drain responses. */
  #stalledTimer: NodeJS.Timeout | undefined
  /** Calls that were cancelled and whose handlers still run. */
  #abandoned = 0
  #hasMessage = false
  #willFlush = false
  #isBlocked = false
  #isStopped = false
  /** No more calls arrive: the stream ends after the last response. */
  #isInputEnded = false
  #isOver = false

  constructor(
    call: ServedCall,
    request: Http2ServerRequest,
    response: Http2ServerResponse,
    options: CallStreamOptions,
  ) {
    const { stream } = request
    this.#call = call
    this.#stream = stream
    this.#response = response
    this.#options = options
    this.#connection = call.connection
    this.#peer = peerOf(request.socket)
    response.writeHead(200, { 'content-type': request.headers['content-type'] })
    stream.on('data', (chunk: Buffer) => this.#read(chunk))
    stream.on('drain', () => this.#unblock())
    stream.once('end', () => this.#endInput())
    stream.once('close', () => this.#onClosed())
    // Calls in flight have their own, shorter time-outs.
    stream.setTimeout(idleMs, () => stream.destroy())
    if (call.deadline === undefined) return
    const late = () => this.#finish(new Failure('TIMEOUT', 'the deadline of the stream has passed'))
    const timer = setTimeout(late, call.deadline - Date.now()).unref()
    stream.once('close', () => clearTimeout(timer))
  }

  leave(): void {
    this.#responses.addDraining()
    this.#flushSoon()
  }

  stop(): void {
    this.#isStopped = true
    setTimeout(() => this.#endInput(), endGraceMs).unref()
  }

  get #isFull(): boolean {
    return this.#calls.size + this.#abandoned >= maxInFlight
  }

  #read(chunk: Buffer): void {
    if (this.#isOver) return
    const wasWithin = this.#reader.isWithin
    this.#hasMessage = false
    try {
      this.#reader.read(chunk)
    } catch (error) {
      // After a malformed message the start of the next one is not known.
      const { message } = error as Error
      this.#finish(error instanceof Failure ? error : malformed(message, error))
      return
    }
    const { isWithin } = this.#reader
    // More bytes of the same message do not extend its time.
    if (isWithin !== wasWithin || (isWithin && this.#hasMessage)) this.#timeMessage(isWithin)
    if (this.#isFull) this.#stream.pause()
  }

  #timeMessage(isWithin: boolean): void {
    clearTimeout(this.#messageTimer)
    if (!isWithin) return
    this.#messageTimer = setTimeout(() => {
      this.#finish(new Failure('TIMEOUT', 'a message did not arrive in time'))
    }, messageTimeoutMs).unref()
  }

  #onMessage(bytes: Buffer): void {
    this.#hasMessage = true
    const request = fromBinary(StreamCallsRequestSchema, bytes)
    if (!surelyFollowsRules(request)) checkRules(request)
    if (request.cancel) this.#cancel(request.callId)
    else this.#begin(request, bytes.length)
  }

  /**
   * A cancelled call counts as in flight until its handler ends, so that a peer cannot start more work by cancelling.
   */
  #cancel(id: number): void {
    const context = this.#calls.get(id)
    if (context === undefined) return
    this.#calls.delete(id)
    this.#abandoned += 1
    context.abort('the caller went away', Code.Canceled)
    const over = () => {
      this.#abandoned -= 1
      this.#resumeReading()
      this.#endIfDone()
    }
    context.work.then(over, over)
  }

  /** `size` is that of the whole request: its headers are kept as long as its message. */
  #begin(request: StreamCallsRequest, size: number): void {
    const { callId, path, message } = request
    if (this.#calls.has(callId)) throw malformed('a call in flight has this number')
    const { methods, admit, log, maxBytes } = this.#options
    const unary = methods.get(path)
    if (unary === undefined || this.#isStopped) {
      this.#responses.addNotBegun(callId)
      this.#flushSoon()
      return
    }
    const headers = headersOf(request)
    const verdict = admit(path, headers)
    const { call } = verdict
    const refusal = verdict.refusal ?? this.#refusalOf(call, message.byteLength, size)
    if (refusal !== undefined) {
      this.#refuse(callId, log.failed(call, refusal))
      return
    }
    const values = () => createContextValues().set(servedCallKey, call)
    const timeoutMs = Number(headers['connect-timeout-ms'])
    const context = new UnaryContext(unary.method, headOf(path, headers), values, timeoutMs)
    this.#calls.set(callId, context)
    void answerUnary(unary, message, { call, context, log, maxBytes }, (...answer) => {
      // The handler of a cancelled call still uses its message, so the bytes count until the handler ends.
      if (context.abortedBy === undefined) call.lease?.release()
      else if (call.lease !== undefined) context.work.then(call.lease.release, call.lease.release)
      // A cancelled call needs no answer.
      if (this.#calls.get(callId) === context) this.#answer(callId, ...answer)
    })
  }

  #refusalOf(call: ServedCall, bytes: number, size: number): Failure | undefined {
    const refusal = this.#options.isGuarded ? peerRefusal(call, this.#peer) : undefined
    if (refusal !== undefined) return refusal
    if (bytes > call.rpc.maxMessageBytes) return messageTooLarge(call.rpc.maxMessageBytes)
    const lease = this.#connection?.admit(call.caller !== undefined)
    if (lease === undefined) return tooManyCalls()
    if (!lease.resize(size)) {
      lease.release()
      return tooManyBytes()
    }
    call.lease = lease
    return undefined
  }

  #refuse(id: number, error: ConnectError): void {
    const headers = { 'content-type': 'application/json' }
    this.#answer(id, codeToHttpStatus(error.code), headers, errorToJsonBytes(error, undefined))
  }

  #answer(callId: number, status: number, headers: AnswerHeaders, body: Uint8Array): void {
    this.#calls.delete(callId)
    this.#resumeReading()
    if (this.#responses.addResponse(callId, status, headers, body)) this.#flushSoon()
    else this.#refuse(callId, internalConnectError('the headers of the answer are too long'))
  }

  /** Writes once per event-loop turn, so that the responses of a turn share one write; the last in flight at once. */
  #flushSoon(): void {
    if (this.#willFlush) return
    this.#willFlush = true
    const flush = () => {
      this.#willFlush = false
      if (this.#isOver) return
      this.#write()
      this.#endIfDone()
    }
    if (this.#calls.size === 0) process.nextTick(flush)
    else setImmediate(flush)
  }

  #write(): void {
    if (!this.#stream.write(this.#responses.take())) this.#block()
  }

  /** Backpressure: stops reading while the peer does not drain responses; closes the stream in the end. */
  #block(): void {
    this.#stalledTimer ??= setTimeout(() => {
      this.#stream.close(constants.NGHTTP2_CANCEL)
      // The peer may never read the reset.
      this.#stream.destroy()
    }, this.#options.stalledMs).unref()
    if (this.#stream.writableLength <= maxUnreadBytes) return
    this.#isBlocked = true
    this.#stream.pause()
  }

  #unblock(): void {
    clearTimeout(this.#stalledTimer)
    this.#stalledTimer = undefined
    this.#isBlocked = false
    this.#resumeReading()
  }

  #resumeReading(): void {
    if (this.#isBlocked || this.#isFull || !this.#stream.isPaused()) return
    // Detached, because otherwise the calls that are read now would inherit the context of the call that has just ended.
    runDetached(() => this.#stream.resume())
  }

  #endInput(): void {
    this.#isInputEnded = true
    this.#endIfDone()
  }

  #endIfDone(): void {
    if (this.#isInputEnded && this.#calls.size === 0 && this.#responses.isEmpty) this.#finish()
  }

  /** Ends the stream, with a failure or with status OK. */
  #finish(failure?: Failure): void {
    if (this.#isOver) return
    this.#isOver = true
    if (!this.#responses.isEmpty) this.#write()
    const { log } = this.#options
    const error = failure && log.failed(this.#call, failure)
    if (error === undefined) log.answered(this.#call)
    this.#response.addTrailers(Object.fromEntries(setTrailerStatus(new Headers(), error)))
    this.#abortAll()
    this.#response.end()
  }

  #abortAll(): void {
    const contexts = [...this.#calls.values()]
    this.#calls.clear()
    for (const context of contexts) context.abort('the caller went away', Code.Canceled)
  }

  #onClosed(): void {
    clearTimeout(this.#messageTimer)
    clearTimeout(this.#stalledTimer)
    if (!this.#isOver) this.#options.log.failed(this.#call, callerGone())
    this.#isOver = true
    this.#abortAll()
  }
}

/** The head of a call, parsed into objects on demand. */
function headOf(path: string, headers: Record<string, string>): CallHead {
  return {
    get url() {
      return `http://${headers['host'] ?? 'localhost'}${path}`
    },
    get header() {
      return new Headers(headers)
    },
  }
}
