// The client of a call stream: one gRPC stream to another Payweave process that carries many calls. Does not retry.

import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type SecureClientSessionOptions,
} from 'node:http2'
import { fromBinary } from '@bufbuild/protobuf'
import { contentTypeUnaryProto } from '@connectrpc/connect/protocol-connect'
import { type Dispatcher, errors, type Pool } from 'undici'
import {
  type StreamCallsResponse,
  StreamCallsResponseSchema,
} from '#gen/payweave/rpc/v1/call_pb.js'
import { oldName } from '../old-names.ts'
import { callStreamPath, MessageQueue, MessageReader, maxHeadBytes } from './messages.ts'

/** A call that fits a call stream. */
export interface StreamedRequest {
  path: string
  headers: Record<string, string>
  body: Uint8Array
}

/** A handler with a callback for a call that was started but that the peer did not begin. */
export interface StreamedHandler extends Dispatcher.DispatchHandler {
  /** The peer did not begin the call: it is sent again another way, and may be sent to another instance. */
  onReturned?(): void
}

/** Callbacks of a call stream. */
export interface CallStreamEvents {
  /** A call that was not sent, or that the peer did not begin. */
  onReturned(request: StreamedRequest, handler: StreamedHandler): void
  /** The stream accepts no more calls. Called at least once. */
  onRetired(stream: CallStream): void
}

const maxInFlight = 256
const maxWaitingBytes = 1024 * 1024
/** Flow-control window of HTTP/2. The default of 64 KiB is full after a few responses, and each refill costs a round trip. */
const windowBytes = 1024 * 1024
/** Maximum age of a stream, because certificates are checked only when a connection is made. */
const maxLifeMs = 600_000
/** A call that its caller gives up sooner than this does not show that the peer is unreachable. */
const minSilenceMs = 50
/**
 * When the peer has sent nothing for this long while calls wait, new calls use another connection. As long as the connect time-out.
 */
const maxSilenceMs = 2_000
/** Time for the peer to read the last bytes, before the connection is destroyed. */
const closeGraceMs = 1_000

/** A call stream that the peer has accepted. */
export class CallStream {
  readonly #session: ClientHttp2Session
  readonly #stream: ClientHttp2Stream
  readonly #events: CallStreamEvents
  readonly #calls = new Map<number, StreamedCall>()
  readonly #closed = Promise.withResolvers<void>()
  #unsent: StreamedCall[] = []
  readonly #messages = new MessageQueue()
  #willFlush = false
  #isRetired = false
  #isEnding = false
  #lastId = 0
  #receivedMs = 0
  /** When the first call after the last received message was sent. */
  #waitingSinceMs = 0

  /** `maxBytes` is the maximum of a response body. */
  constructor(stream: ClientHttp2Stream, events: CallStreamEvents, maxBytes: number) {
    const session = stream.session as ClientHttp2Session
    this.#session = session
    this.#stream = stream
    this.#events = events
    const reader = new MessageReader(maxHeadBytes + maxBytes, (message) => {
      this.#take(fromBinary(StreamCallsResponseSchema, message))
    })
    stream.on('data', (chunk: Buffer) => {
      if (stream.destroyed) return
      this.#receivedMs = performance.now()
      try {
        reader.read(chunk)
      } catch (error) {
        stream.destroy(error as Error)
      }
    })
    let reason: Error | undefined
    stream.on('error', (error) => {
      reason = error
    })
    // After either event nothing can be sent, but responses to earlier calls may still arrive.
    session.once('goaway', () => this.#retire())
    stream.once('end', () => this.#retire())
    const old = setTimeout(() => this.#retire(), maxLifeMs).unref()
    stream.once('close', () => {
      clearTimeout(old)
      session.destroy()
      this.#onClosed(reason)
    })
    // A stream without calls does not keep the process alive.
    session.unref()
  }

  /** Sends a call; false, without sending it, when it has to use HTTP. Errors go to the handler. */
  take(request: StreamedRequest, handler: StreamedHandler): boolean {
    if (this.#isRetired || this.#calls.size >= maxInFlight) return false
    if (this.#stream.writableLength > maxWaitingBytes) return false
    const call = new StreamedCall(this, this.#newId(), request, handler)
    if (this.#calls.size === 0) this.#session.ref()
    this.#calls.set(call.id, call)
    this.#unsent.push(call)
    this.#flushSoon()
    return true
  }

  /** Accepts no more calls and closes after the last one in flight. Never rejects. */
  close(): Promise<void> {
    this.#retire()
    return this.#closed.promise
  }

  /** Cancels a call. When nothing was received since it was sent, the stream accepts no more calls. */
  giveUp(call: StreamedCall): void {
    if (!this.#forget(call)) return
    if (call.sentMs === undefined) return
    this.#messages.addCancel(call.id)
    this.#flushSoon()
    // The peer may be unreachable, so the next call uses another connection.
    const hasReceivedNothing = this.#receivedMs < call.sentMs
    if (hasReceivedNothing && performance.now() - call.sentMs > minSilenceMs) this.#retire()
  }

  #newId(): number {
    do {
      this.#lastId = (this.#lastId + 1) >>> 0
    } while (this.#calls.has(this.#lastId))
    return this.#lastId
  }

  /** A lone call does not wait for others of its event-loop turn. */
  #flushSoon(): void {
    if (this.#willFlush) return
    this.#willFlush = true
    if (this.#calls.size === 1) process.nextTick(() => this.#flush())
    else setImmediate(() => this.#flush())
  }

  /** Writes once per event-loop turn, so that the calls of a turn share one write. */
  #flush(): void {
    this.#willFlush = false
    const sentMs = performance.now()
    const unsent = this.#unsent
    this.#unsent = []
    const { writable, readableEnded } = this.#stream
    const isOpen = writable && !readableEnded && !this.#isStalled(sentMs)
    for (const call of unsent) {
      if (!this.#calls.has(call.id)) continue
      if (isOpen) this.#send(call, sentMs)
      else this.#return(call)
    }
    if (!this.#messages.isEmpty && this.#stream.writable) this.#stream.write(this.#messages.take())
    this.#endIfDone()
  }

  #send(call: StreamedCall, sentMs: number): void {
    call.start()
    // Its caller may have cancelled it while it waited to be sent.
    if (call.aborted) return
    const { path, headers, body } = call.request
    if (this.#messages.addCall(call.id, path, headers, body)) {
      call.sentMs = sentMs
      if (this.#waitingSinceMs <= this.#receivedMs) this.#waitingSinceMs = sentMs
    } else this.#return(call)
  }

  /** Whether calls have waited for the peer for `maxSilenceMs`; then the stream accepts no more calls. */
  #isStalled(nowMs: number): boolean {
    if (this.#waitingSinceMs <= this.#receivedMs || nowMs - this.#waitingSinceMs < maxSilenceMs)
      return false
    this.#retire()
    return true
  }

  #take(response: StreamCallsResponse): void {
    if (response.draining) this.#retire()
    const call = this.#calls.get(response.callId)
    // The message is only a notice, or the response to a call that was cancelled.
    if (call === undefined) return
    if (response.notBegun) this.#return(call)
    else {
      this.#forget(call)
      call.answer(response)
    }
  }

  #return(call: StreamedCall): void {
    this.#forget(call)
    call.isReturned = true
    call.handler.onReturned?.()
    this.#events.onReturned(call.request, call.handler)
  }

  #forget({ id }: StreamedCall): boolean {
    const was = this.#calls.delete(id)
    if (this.#calls.size > 0) return was
    this.#session.unref()
    this.#endIfDone()
    return was
  }

  #retire(): void {
    if (this.#isRetired) return
    this.#isRetired = true
    this.#events.onRetired(this)
    this.#endIfDone()
  }

  #endIfDone(): void {
    if (!this.#isRetired || this.#calls.size > 0 || this.#willFlush || this.#isEnding) return
    this.#isEnding = true
    // `close` waits for the end of the stream, so the process must not exit before.
    this.#session.ref()
    this.#stream.end()
    // A peer that stopped reading would delay the end of the connection.
    setTimeout(() => this.#session.destroy(), closeGraceMs).unref()
  }

  #onClosed(reason: Error | undefined): void {
    this.#isRetired = true
    this.#events.onRetired(this)
    const calls = [...this.#calls.values()]
    this.#calls.clear()
    const error = reason ?? new errors.SocketError('the other side closed the connection')
    for (const call of calls) {
      if (call.sentMs === undefined) this.#events.onReturned(call.request, call.handler)
      else call.fail(error)
    }
    this.#closed.resolve()
  }
}

/** One call over a stream, which the caller may abort; a class, since each call makes one. */
class StreamedCall implements Dispatcher.DispatchController {
  readonly id: number
  readonly request: StreamedRequest
  readonly handler: StreamedHandler
  readonly paused = false
  /** Undefined until it was sent. */
  sentMs: number | undefined
  /** The call was handed to another connection, which completes its handler. */
  isReturned = false
  aborted = false
  reason: Error | null = null
  readonly #owner: CallStream

  constructor(owner: CallStream, id: number, request: StreamedRequest, handler: StreamedHandler) {
    this.#owner = owner
    this.id = id
    this.request = request
    this.handler = handler
  }

  start(): void {
    this.handler.onRequestStart?.(this, undefined)
  }

  answer({ status, headers, body }: StreamCallsResponse): void {
    const { handler } = this
    // A plain response names no content type.
    if (status === 0) headers['content-type'] = contentTypeUnaryProto
    handler.onResponseStart?.(this, status === 0 ? 200 : status, headers)
    if (!this.aborted) handler.onResponseData?.(this, body as Buffer)
    if (!this.aborted) handler.onResponseEnd?.(this, {})
  }

  fail(error: Error): void {
    this.handler.onResponseError?.(this, error)
  }

  abort(reason: Error): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    if (this.isReturned) return
    this.#owner.giveUp(this)
    this.fail(reason)
  }

  /** Does nothing: an answer arrives complete, so there is nothing to hold back. */
  pause(): void {}

  resume(): void {}
}

/** The stream, or why there is none: `unsupported` is a server that serves no call streams. */
export type Opened = ClientHttp2Stream | 'unsupported' | 'unreachable'

const openWithinMs = 4_000
const unimplemented = '12'

/**
 * Opens a call stream to an origin with the credential of a caller. Never rejects: the connection is destroyed unless
 * the peer accepts the stream.
 */
export function openCallStream(
  origin: URL,
  options: Pool.Options['connect'],
  authorization: string,
): Promise<Opened> {
  const { promise, resolve } = Promise.withResolvers<Opened>()
  // In undici this is the connect time-out; in `http2.connect` it would be that of an idle socket.
  const { timeout: _, ...tls } = typeof options === 'object' ? options : {}
  const session = connect(origin, {
    ...(tls as SecureClientSessionOptions),
    settings: { enablePush: false, initialWindowSize: windowBytes },
  })
  const timer = setTimeout(() => finish('unreachable'), openWithinMs).unref()
  function finish(result: Opened): void {
    clearTimeout(timer)
    if (typeof result === 'string') session.destroy()
    resolve(result)
  }
  session.once('connect', () => {
    // Node.js emits this also for a session that was destroyed meanwhile.
    if (!session.destroyed) session.setLocalWindowSize(windowBytes)
  })
  // A server that speaks HTTP/1.1 alone, or another peer.
  session.on('error', (error: NodeJS.ErrnoException) => {
    finish(error.code?.startsWith('ERR_HTTP2') === true ? 'unsupported' : 'unreachable')
  })
  session.once('close', () => finish('unreachable'))
  const stream = session.request({
    ':method': 'POST',
    ':path': oldName(callStreamPath),
    'content-type': 'application/grpc+proto',
    te: 'trailers',
    authorization,
  })
  stream.on('error', () => undefined)
  stream.once('response', (headers) => {
    const status = headers['grpc-status']
    if (headers[':status'] === 200 && status === undefined) finish(stream)
    else finish(status === undefined || status === unimplemented ? 'unsupported' : 'unreachable')
  })
  session.unref()
  return promise
}
