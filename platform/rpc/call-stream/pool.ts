// The pool of one address: small unary calls go over a call stream, all others, and all while there is no stream, over
// HTTP/1.1. Does not retry.

import { contentTypeUnaryProto } from '@connectrpc/connect/protocol-connect'
import { Dispatcher, type Pool } from 'undici'
import { runDetached } from '../context.ts'
import { CallStream, openCallStream, type StreamedRequest } from './client.ts'
import { maxStreamedBytes, timeoutHeader } from './messages.ts'

/** How a pool and its stream connect. */
export interface CallStreamPoolOptions {
  connect: Pool.Options['connect']
  /** Maximum bytes of a response over the stream. */
  maxBytes: number
}

const minBackoffMs = 250
const maxBackoffMs = 5_000
/** Pause before a server that serves no call streams is tried again: it may have been upgraded. */
const unsupportedRetryMs = 60_000

/** A dispatcher of undici's over another one of the same origin. */
export class CallStreamPool extends Dispatcher {
  readonly #origin: URL
  readonly #pool: Dispatcher
  readonly #options: CallStreamPoolOptions
  #stream: CallStream | undefined
  #isOpening = false
  readonly #retiring = new Set<Promise<void>>()
  #failures = 0
  #retryAtMs = 0
  #isClosed = false

  constructor(origin: string, pool: Dispatcher, options: CallStreamPoolOptions) {
    super()
    this.#origin = new URL(origin)
    this.#pool = pool
    this.#options = options
  }

  /**
   * Sends a call over the stream, or over HTTP when there is no stream or the call does not fit one. Errors go to the
   * handler.
   */
  override dispatch(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    if (isStreamable(options) && handler.onRequestStart !== undefined) {
      if (this.#stream === undefined) this.#openSoon(options)
      else if (this.#stream.take(options, handler)) return true
    }
    return this.#pool.dispatch(options, handler)
  }

  /** Opens a stream in the background: the call that needs it goes over HTTP and does not wait. */
  #openSoon({ headers }: StreamedRequest): void {
    if (this.#isOpening || this.#isClosed) return
    if (performance.now() < this.#retryAtMs) return
    this.#isOpening = true
    // The stream outlives the call.
    void runDetached(() => this.#open(headers['authorization'] ?? '')).finally(() => {
      this.#isOpening = false
    })
  }

  async #open(authorization: string): Promise<void> {
    const opened = await openCallStream(this.#origin, this.#options.connect, authorization)
    if (typeof opened === 'string') this.#backOff(opened === 'unsupported')
    else if (opened.destroyed) this.#backOff(false)
    else if (this.#isClosed) opened.session?.destroy()
    else {
      this.#failures = 0
      this.#stream = new CallStream(opened, this.#events(), this.#options.maxBytes)
    }
  }

  #events() {
    return {
      onReturned: (request: StreamedRequest, handler: Dispatcher.DispatchHandler) => {
        this.#pool.dispatch({ ...request, method: 'POST' }, handler)
      },
      onRetired: (stream: CallStream) => {
        if (this.#stream !== stream) return
        this.#stream = undefined
        this.#retryAtMs = performance.now() + minBackoffMs
        const closed = stream.close()
        this.#retiring.add(closed)
        void closed.finally(() => this.#retiring.delete(closed))
      },
    }
  }

  #backOff(isUnsupported: boolean): void {
    const backoffMs = Math.min(minBackoffMs * 2 ** this.#failures, maxBackoffMs)
    this.#failures += 1
    this.#retryAtMs = performance.now() + (isUnsupported ? unsupportedRetryMs : backoffMs)
  }

  /** Resolves, or calls back, after the calls in flight. */
  override close(): Promise<void>
  override close(callback: () => void): void
  override close(callback?: () => void): Promise<void> | undefined {
    this.#isClosed = true
    const closed = this.#closeAll()
    if (callback === undefined) return closed
    void closed.finally(callback)
    return undefined
  }

  async #closeAll(): Promise<void> {
    await this.#stream?.close()
    await Promise.all(this.#retiring)
    // Closed last, because calls that a stream has returned are sent through it.
    await this.#pool.close()
  }
}

type Streamable = Dispatcher.DispatchOptions & StreamedRequest

const wholeMs = /^\d{1,9}$/

function isStreamable(options: Dispatcher.DispatchOptions): options is Streamable {
  const { method, body } = options
  const headers = options.headers as Record<string, unknown> | undefined
  return (
    method === 'POST' &&
    body instanceof Uint8Array &&
    body.byteLength <= maxStreamedBytes &&
    headers?.['content-type'] === contentTypeUnaryProto &&
    headers['authorization'] !== undefined &&
    // A call over a stream has no other time limit.
    wholeMs.test(String(headers[timeoutHeader]))
  )
}
