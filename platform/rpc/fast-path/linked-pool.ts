// The pool of one address: small unary calls go over a link, all others, and all while there is no link, over HTTP/1.1.
// Does not retry.

import type { Socket } from 'node:net'
import { contentTypeUnaryProto } from '@connectrpc/connect/protocol-connect'
import { buildConnector, Dispatcher, type Pool } from 'undici'
import { runDetached } from '../context.ts'
import { handshake, Link, type LinkedRequest, maxLinkedBytes } from './link.ts'

/** How a pool and its link connect. */
export interface LinkedPoolOptions {
  connect: Pool.Options['connect']
  /** Maximum bytes of an answer over the link. */
  maxBytes: number
}

const timeoutHeader = 'connect-timeout-ms'
const handshakeTimeoutMs = 2_000
const firstRestMs = 250
const maxOpenMs = 5_000
/** Wait before a server that does not speak frames is tried again: an upgrade may have changed it. */
const strangerRestMs = 60_000

/** A dispatcher of undici's over another one of the same origin. */
export class LinkedPool extends Dispatcher {
  readonly #origin: URL
  readonly #pool: Dispatcher
  readonly #options: LinkedPoolOptions
  #link: Link | undefined
  #isOpening = false
  readonly #leaving = new Set<Promise<void>>()
  #failures = 0
  #restUntilMs = 0
  #isClosed = false

  constructor(origin: string, pool: Dispatcher, options: LinkedPoolOptions) {
    super()
    this.#origin = new URL(origin)
    this.#pool = pool
    this.#options = options
  }

  /**
   * Sends a call over the link, or over HTTP when there is no link or the call does not fit one. Errors go to the
   * handler.
   */
  override dispatch(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    if (isLinkable(options) && handler.onRequestStart !== undefined) {
      if (this.#link === undefined) this.#openSoon()
      else if (this.#link.take(options, handler)) return true
    }
    return this.#pool.dispatch(options, handler)
  }

  /** In the background: the call that asks for it does not wait. */
  #openSoon(): void {
    if (this.#isOpening || this.#isClosed) return
    if (performance.now() < this.#restUntilMs) return
    this.#isOpening = true
    // The link outlives the call.
    void runDetached(() => this.#open()).finally(() => {
      this.#isOpening = false
    })
  }

  async #open(): Promise<void> {
    const socket = await connectTo(this.#origin, this.#options.connect).catch(() => undefined)
    const result = socket === undefined ? 'silence' : await handshake(socket, handshakeTimeoutMs)
    if (socket === undefined || result !== 'frames') this.#rest(result === 'other')
    else if (socket.destroyed) this.#rest(false)
    else if (this.#isClosed) socket.destroy()
    else this.#use(socket)
  }

  #use(socket: Socket): void {
    this.#failures = 0
    const link = new Link(
      socket,
      {
        onReturned: (request, handler) => {
          this.#pool.dispatch({ ...request, method: 'POST' }, handler)
        },
        onLeaving: () => {
          if (this.#link !== link) return
          this.#link = undefined
          this.#restUntilMs = performance.now() + firstRestMs
          const closed = link.close()
          this.#leaving.add(closed)
          void closed.finally(() => this.#leaving.delete(closed))
        },
      },
      this.#options.maxBytes,
    )
    this.#link = link
    socket.resume()
  }

  #rest(isStranger: boolean): void {
    const restMs = Math.min(firstRestMs * 2 ** this.#failures, maxOpenMs)
    this.#failures += 1
    this.#restUntilMs = performance.now() + (isStranger ? strangerRestMs : restMs)
  }

  /** Resolves after the calls in flight. */
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
    await this.#link?.close()
    await Promise.all(this.#leaving)
    // Closed last, because calls that a link gave back go through it.
    await this.#pool.close()
  }
}

type Linkable = Dispatcher.DispatchOptions & LinkedRequest

function isLinkable(options: Dispatcher.DispatchOptions): options is Linkable {
  const { method, body } = options
  const headers = options.headers as Record<string, unknown> | undefined
  return (
    method === 'POST' &&
    body instanceof Uint8Array &&
    body.byteLength <= maxLinkedBytes &&
    headers?.['content-type'] === contentTypeUnaryProto &&
    // A call over a link has no other time limit.
    headers[timeoutHeader] !== undefined
  )
}

async function connectTo(origin: URL, connect: Pool.Options['connect']): Promise<Socket> {
  const { protocol, hostname, host, port } = origin
  const connector = typeof connect === 'function' ? connect : buildConnector(connect ?? {})
  const defaultPort = protocol === 'https:' ? '443' : '80'
  return await new Promise((resolve, reject) => {
    connector({ protocol, hostname, host, port: port || defaultPort }, (error, socket) => {
      if (error === null) resolve(socket)
      else reject(error)
    })
  })
}
