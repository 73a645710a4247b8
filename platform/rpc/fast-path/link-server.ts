// Serves the calls that come as frames, many over one connection.
//
// A request of HTTP costs each side more than the call itself. Calls and responses mean the same as over HTTP, so they
// pass the same admission and the same handlers.

import type { Socket } from 'node:net'
import { Code, type ConnectError, createContextValues } from '@connectrpc/connect'
import {
  codeToHttpStatus,
  contentTypeUnaryProto,
  errorToJsonBytes,
} from '@connectrpc/connect/protocol-connect'
import type { Failure } from '#core/errors/errors.ts'
import { peerRefusal } from '../auth/peer.ts'
import { peerOf } from '../auth/tls.ts'
import { runDetached } from '../context.ts'
import { callerGone, internalConnectError } from '../errors.ts'
import type { Lease } from '../limits/byte-budget.ts'
import { messageTooLarge, tooManyBytes, tooManyCalls } from '../limits/limits.ts'
import type { Admit } from '../server/admission.ts'
import type { Connection, Connections } from '../server/connection.ts'
import type { Unary, UnaryMethods } from '../server/handlers.ts'
import type { CallLog } from '../server/served-call.ts'
import { type ServedCall, servedCallKey } from '../server/served-call.ts'
import { type AnswerHeaders, answerUnary, isTimeout, UnaryContext } from '../server/unary-answer.ts'
import {
  type FrameHead,
  FrameQueue,
  FrameReader,
  frameKind,
  maxHeadBytes,
  preface,
  type TakeBody,
} from './frames.ts'
import { maxLifeMs, maxLinkedBytes } from './link.ts'
import { isDefaultHead, LinkedHead, type LinkedHeaders, readHead } from './linked-head.ts'

/** What the server of links needs. */
export interface LinkServerOptions {
  methods: UnaryMethods
  admit: Admit
  connections: Connections
  /** Whether calls are checked against the certificate of their connection. */
  isGuarded: boolean
  log: CallLog
  /** Maximum bytes of an answer. */
  maxBytes: number
  /** Milliseconds that the peer has to drain answers. */
  stalledMs: number
}

/** Takes connections whose client has sent the preface. */
export interface LinkServer {
  /**
   * Serves a connection, which has been read up to the end of the preface. Never throws; a peer that sends no frames is
   * cut.
   */
  serve(socket: Socket): void
  /** Sends GOAWAY. Calls that were sent before the caller received it are still answered. */
  leave(): void
  /** Accepts no more calls. Calls in flight are answered; a link without any is closed a moment later. */
  stop(): void
}

/** Maximum calls in flight over a link; more are not read until one ends. */
const maxInFlight = 1_024
/** Maximum time from the first byte of a frame to its last. */
const frameTimeoutMs = 30_000
/** Longer than a client keeps a link, so that the server never cuts one that the client is about to use. */
const idleMs = maxLifeMs + 60_000
/** Wait before links are closed: a client that received GOAWAY closes its own. */
const partingMs = 1_000

/** Makes the server of links. */
export function createLinkServer(options: LinkServerOptions): LinkServer {
  const links = new Set<ServedLink>()
  let isLeaving = false
  return {
    serve(socket) {
      if (isLeaving) {
        socket.destroy()
        return
      }
      const link = new ServedLink(socket, options)
      links.add(link)
      socket.once('close', () => links.delete(link))
    },
    leave() {
      isLeaving = true
      for (const link of links) link.leave()
    },
    stop() {
      isLeaving = true
      for (const link of links) link.stop()
    },
  }
}

/** One connection. */
class ServedLink {
  readonly #socket: Socket
  readonly #options: LinkServerOptions
  readonly #connection: Connection
  readonly #calls = new Map<number, UnaryContext>()
  readonly #answers = new FrameQueue()
  readonly #reader: FrameReader
  /** Counts the bytes of an incomplete head. */
  #headLease: Lease | undefined
  /** The call whose body is still arriving. */
  #waiting: ServedCall | undefined
  #timer: NodeJS.Timeout
  /** Calls that were cancelled and whose handlers still run. */
  #abandoned = 0
  #willFlush = false
  #isBlocked = false
  #isStopped = false
  #isParting = false
  #hasTaken = false

  constructor(socket: Socket, options: LinkServerOptions) {
    this.#socket = socket
    this.#options = options
    this.#connection = options.connections.of(socket, () => socket.remoteAddress)
    this.#reader = new FrameReader(maxHeadBytes + maxLinkedBytes, (frame) => this.#open(frame))
    socket.allowHalfOpen = false
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('drain', () => this.#unblock())
    socket.on('error', () => socket.destroy())
    socket.once('close', () => this.#lost())
    this.#timer = this.#wait(idleMs)
    socket.write(preface)
  }

  leave(): void {
    this.#add(frameKind.goaway, 0)
  }

  stop(): void {
    this.#isStopped = true
    setTimeout(() => {
      this.#isParting = true
      this.#endIfDone()
    }, partingMs).unref()
  }

  /** Cuts the link when nothing happens for `forMs`. */
  #wait(forMs: number): NodeJS.Timeout {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#timedOut(), forMs).unref()
    return this.#timer
  }

  #timedOut(): void {
    // Calls in flight keep the link open: they have time-outs of their own.
    if (this.#calls.size > 0 && !this.#isBlocked && !this.#reader.isWithin) this.#wait(idleMs)
    else this.#socket.destroy()
  }

  get #isFull(): boolean {
    return this.#calls.size + this.#abandoned >= maxInFlight
  }

  #read(chunk: Buffer): void {
    if (this.#socket.destroyed) return
    const wasWithin = this.#reader.isWithin
    this.#hasTaken = false
    try {
      this.#reader.read(chunk)
    } catch {
      // Not a frame: nothing that follows can be understood.
      this.#socket.destroy()
      return
    }
    if (!this.#holdHead(this.#reader.headBytes)) {
      this.#socket.destroy()
      return
    }
    if (this.#isBlocked) return
    const { isWithin } = this.#reader
    // More bytes of the same frame do not extend its time.
    if (this.#hasTaken || isWithin !== wasWithin) this.#wait(isWithin ? frameTimeoutMs : idleMs)
    if (this.#isFull) this.#socket.pause()
  }

  /** Counts the bytes of a head; false when there is no room for them. */
  #holdHead(bytes: number): boolean {
    if (bytes === 0) {
      this.#headLease?.release()
      this.#headLease = undefined
      return true
    }
    this.#headLease ??= this.#connection.partial()
    return this.#headLease.resize(bytes)
  }

  /** Decides about a frame by its head, before its body takes memory. */
  #open({ kind, call, head, bodyBytes }: FrameHead): TakeBody | undefined {
    this.#hasTaken = true
    if (kind === frameKind.call) return this.#begin(call, head, bodyBytes)
    if (kind !== frameKind.cancel) throw new RangeError('no frame for a server')
    this.#cancel(call)
    return undefined
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
      this.#readOn()
      this.#endIfDone()
    }
    context.work.then(over, over)
  }

  /** Returns undefined for a call that is answered by its head alone: its body is dropped. */
  #begin(id: number, head: string, bodyBytes: number): TakeBody | undefined {
    if (this.#calls.has(id)) throw new RangeError('a call has that number')
    const { methods, log } = this.#options
    const [path, headers] = readHead(head)
    const unary = methods.get(path)
    const timeout = headers['connect-timeout-ms']
    const isOdd =
      (timeout !== undefined && !isTimeout(timeout)) ||
      (headers['content-type'] ?? contentTypeUnaryProto) !== contentTypeUnaryProto
    if (unary === undefined || isOdd || this.#isStopped) {
      this.#add(frameKind.refused, id)
      return undefined
    }
    const verdict = this.#options.admit(path, headers)
    const { call } = verdict
    const refusal = verdict.refusal ?? this.#refusalOf(call, bodyBytes)
    if (refusal !== undefined) {
      this.#refuse(id, log.failed(call, refusal))
      return undefined
    }
    this.#waiting = call
    return (body) => {
      this.#waiting = undefined
      this.#run(id, unary, contextOf(unary, call, path, headers), call, body)
    }
  }

  #refusalOf(call: ServedCall, bodyBytes: number): Failure | undefined {
    const { isGuarded } = this.#options
    const refusal = isGuarded ? peerRefusal(call, peerOf(this.#socket)) : undefined
    if (refusal !== undefined) return refusal
    if (bodyBytes > call.rpc.maxMessageBytes) return messageTooLarge(call.rpc.maxMessageBytes)
    if (call.caller !== undefined) this.#connection.noteCredential()
    const lease = this.#connection.admit(call.caller !== undefined)
    if (lease === undefined) return tooManyCalls()
    if (!lease.resize(bodyBytes)) {
      lease.release()
      return tooManyBytes()
    }
    call.lease = lease
    return undefined
  }

  #run(id: number, unary: Unary, context: UnaryContext, call: ServedCall, body: Buffer): void {
    const { log, maxBytes } = this.#options
    this.#calls.set(id, context)
    void answerUnary(unary, body, { call, context, log, maxBytes }, (...answer) => {
      // The handler of a cancelled call still uses its message, so its bytes count until it ends.
      if (context.abortedBy === undefined) call.lease?.release()
      else if (call.lease !== undefined) context.work.then(call.lease.release, call.lease.release)
      // A cancelled call needs no answer.
      if (this.#calls.get(id) === context) this.#answer(id, ...answer)
    })
  }

  #refuse(id: number, error: ConnectError): void {
    const headers = { 'content-type': 'application/json' }
    this.#answer(id, codeToHttpStatus(error.code), headers, errorToJsonBytes(error, undefined))
  }

  #answer(id: number, status: number, headers: AnswerHeaders, body: Uint8Array): void {
    this.#forget(id)
    const head = isDefaultHead(status, headers) ? '' : JSON.stringify([status, headers])
    if (this.#add(frameKind.answer, id, head, body)) return
    this.#refuse(id, internalConnectError('the headers of the answer are too long'))
  }

  #add(kind: number, id: number, head?: string, body?: Uint8Array): boolean {
    const isAdded = this.#answers.add(kind, id, head, body)
    this.#flushSoon()
    return isAdded
  }

  /** Writes once per event-loop turn, so that the answers of a turn share one write. */
  #flushSoon(): void {
    if (this.#willFlush) return
    this.#willFlush = true
    setImmediate(() => {
      this.#willFlush = false
      if (this.#socket.destroyed || this.#answers.isEmpty) return
      if (!this.#socket.write(this.#answers.take())) this.#block()
      this.#endIfDone()
    })
  }

  /** Backpressure: stops reading while the peer does not drain responses; closes the connection in the end. */
  #block(): void {
    if (this.#isBlocked) return
    this.#isBlocked = true
    this.#socket.pause()
    this.#wait(this.#options.stalledMs)
  }

  #unblock(): void {
    if (!this.#isBlocked) return
    this.#isBlocked = false
    this.#wait(this.#reader.isWithin ? frameTimeoutMs : idleMs)
    this.#readOn()
  }

  #readOn(): void {
    if (this.#isBlocked || this.#isFull || !this.#socket.isPaused()) return
    // Detached, or the calls that are read now would inherit the context of the call that made room.
    runDetached(() => this.#socket.resume())
  }

  #forget(id: number): void {
    this.#calls.delete(id)
    this.#readOn()
  }

  #endIfDone(): void {
    if (this.#isParting && this.#calls.size === 0 && this.#answers.isEmpty) this.#socket.end()
  }

  #lost(): void {
    clearTimeout(this.#timer)
    this.#headLease?.release()
    if (this.#waiting !== undefined) {
      this.#options.log.failed(this.#waiting, callerGone())
      this.#waiting.lease?.release()
    }
    const contexts = [...this.#calls.values()]
    this.#calls.clear()
    for (const context of contexts) context.abort('the caller went away', Code.Canceled)
  }
}

function contextOf(
  unary: Unary,
  call: ServedCall,
  path: string,
  headers: LinkedHeaders,
): UnaryContext {
  const values = () => createContextValues().set(servedCallKey, call)
  const timeoutMs = Number(headers['connect-timeout-ms'])
  return new UnaryContext(unary.method, new LinkedHead(path, headers), values, timeoutMs)
}
