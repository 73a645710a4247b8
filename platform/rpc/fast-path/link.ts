// Client side of a link: one connection to a process of ours that multiplexes many calls as frames. Does not retry.

import type { Socket } from 'node:net'
import { contentTypeUnaryProto } from '@connectrpc/connect/protocol-connect'
import { type Dispatcher, errors } from 'undici'
import { FrameQueue, FrameReader, frameKind, maxHeadBytes, preface } from './frames.ts'

/**
 * Maximum body of a call over a link; larger ones take a connection of their own, since they would delay the others.
 */
export const maxLinkedBytes = 64 * 1024

/** A call that fits a link. */
export interface LinkedRequest {
  path: string
  headers: Record<string, string>
  body: Uint8Array
}

/** A handler with a callback for a call that was started but that the peer did not begin. */
export interface LinkedHandler extends Dispatcher.DispatchHandler {
  /** The peer did not begin the call: it is sent again another way, and may be sent to another instance. */
  onReturned?(): void
}

/** Callbacks of a link. */
export interface LinkEvents {
  /** A call that was not sent, or that the peer wants over HTTP. */
  onReturned(request: LinkedRequest, handler: LinkedHandler): void
  /** The link takes no more calls. */
  onLeaving(): void
}

const maxInFlight = 256
const maxWaitingBytes = 1024 * 1024
/** Certificates are checked only when a connection is made, so its life is limited. */
export const maxLifeMs = 600_000
/** A call that is given up sooner than this says nothing about the peer. */
const minSilenceMs = 50
/**
 * After such a silence with calls in flight, new ones take another route: as long as a connection may take to be made.
 */
const maxSilenceMs = 2_000
/** Time limit for the peer to read the last bytes. */
const partingMs = 1_000
type AnswerHead = [status: number, headers: Record<string, string>]
const usualHead: AnswerHead = [200, { 'content-type': contentTypeUnaryProto }]

/** A link over a connection whose other side has answered the preface. */
export class Link {
  readonly #socket: Socket
  readonly #events: LinkEvents
  readonly #calls = new Map<number, LinkedCall>()
  readonly #frames = new FrameQueue()
  readonly #closed = Promise.withResolvers<void>()
  #unsent: LinkedCall[] = []
  #willFlush = false
  #isLeaving = false
  #isEnding = false
  #lastId = 0
  #heardMs = 0
  /** When the first call was sent after which nothing has been received. */
  #askedMs = 0

  constructor(socket: Socket, events: LinkEvents, maxBytes: number) {
    this.#socket = socket
    this.#events = events
    const reader = new FrameReader(maxHeadBytes + maxBytes, ({ kind, call, head }) => (body) => {
      this.#take(kind, call, head, body)
    })
    socket.on('data', (chunk: Buffer) => {
      if (socket.destroyed) return
      this.#heardMs = performance.now()
      try {
        reader.read(chunk)
      } catch (error) {
        socket.destroy(error as Error)
      }
    })
    let reason: Error | undefined
    socket.on('error', (error) => {
      reason = error
    })
    // After the peer's end nothing can be sent, though the connection may stay open for a while.
    socket.once('end', () => this.#leave())
    const old = setTimeout(() => this.#leave(), maxLifeMs).unref()
    socket.once('close', () => {
      clearTimeout(old)
      this.#lost(reason)
    })
    // A link without calls does not keep the process alive.
    socket.unref()
  }

  /** Takes a call; false when it has to go another way. Errors go to the handler. */
  take(request: LinkedRequest, handler: LinkedHandler): boolean {
    if (this.#isLeaving || this.#calls.size >= maxInFlight) return false
    if (this.#socket.writableLength > maxWaitingBytes) return false
    const call = new LinkedCall(this, this.#newId(), request, handler)
    if (this.#calls.size === 0) this.#socket.ref()
    this.#calls.set(call.id, call)
    this.#unsent.push(call)
    this.#flushSoon()
    return true
  }

  /** Accepts no more calls and closes after the last one in flight. */
  close(): Promise<void> {
    this.#leave()
    return this.#closed.promise
  }

  /** Cancels a call. When nothing was heard since it was sent, the link takes no more calls. */
  giveUp(call: LinkedCall): void {
    if (!this.#forget(call)) return
    if (call.sentMs === undefined) return
    this.#frames.add(frameKind.cancel, call.id)
    this.#flushSoon()
    // Nothing was received since it was sent: the peer may be gone, and the next call takes another route.
    const isUnheard = this.#heardMs < call.sentMs
    if (isUnheard && performance.now() - call.sentMs > minSilenceMs) this.#leave()
  }

  #newId(): number {
    do {
      this.#lastId = (this.#lastId + 1) >>> 0
    } while (this.#calls.has(this.#lastId))
    return this.#lastId
  }

  #flushSoon(): void {
    if (this.#willFlush) return
    this.#willFlush = true
    setImmediate(() => this.#flush())
  }

  /** Writes once per event-loop turn, so that the calls of a turn share one write. */
  #flush(): void {
    this.#willFlush = false
    const sentMs = performance.now()
    const unsent = this.#unsent
    this.#unsent = []
    const isOpen = this.#socket.writable && !this.#isSilent(sentMs)
    for (const call of unsent) {
      if (!this.#calls.has(call.id)) continue
      if (isOpen) this.#send(call, sentMs)
      else this.#return(call)
    }
    if (!this.#frames.isEmpty && this.#socket.writable) this.#socket.write(this.#frames.take())
    this.#endIfDone()
  }

  #send(call: LinkedCall, sentMs: number): void {
    call.start()
    // It may have been given up while it waited.
    if (call.aborted) return
    const { path, headers, body } = call.request
    if (this.#frames.add(frameKind.call, call.id, JSON.stringify([path, headers]), body)) {
      call.sentMs = sentMs
      if (this.#askedMs <= this.#heardMs) this.#askedMs = sentMs
    } else this.#return(call)
  }

  /** Whether the peer has sent nothing for so long after a call that it may be lost. */
  #isSilent(nowMs: number): boolean {
    if (this.#askedMs <= this.#heardMs || nowMs - this.#askedMs < maxSilenceMs) return false
    this.#leave()
    return true
  }

  #take(kind: number, id: number, head: string, body: Buffer): void {
    if (kind === frameKind.goaway) {
      this.#leave()
      return
    }
    const call = this.#calls.get(id)
    // The answer to a call that was given up.
    if (call === undefined) return
    if (kind === frameKind.refused) this.#return(call)
    else if (kind === frameKind.answer) {
      // A head that cannot be read breaks the link, and fails the call with it.
      const [status, headers] = head === '' ? usualHead : readHead(head)
      this.#forget(call)
      call.answer(status, headers, body)
    } else throw new RangeError('no frame for a client')
  }

  #return(call: LinkedCall): void {
    this.#forget(call)
    call.isReturned = true
    call.handler.onReturned?.()
    this.#events.onReturned(call.request, call.handler)
  }

  #forget({ id }: LinkedCall): boolean {
    const was = this.#calls.delete(id)
    if (this.#calls.size > 0) return was
    this.#socket.unref()
    this.#endIfDone()
    return was
  }

  #leave(): void {
    if (this.#isLeaving) return
    this.#isLeaving = true
    this.#events.onLeaving()
    this.#endIfDone()
  }

  #endIfDone(): void {
    if (!this.#isLeaving || this.#calls.size > 0 || this.#willFlush || this.#isEnding) return
    this.#isEnding = true
    this.#socket.destroySoon()
    // A peer that stopped reading would delay the end of the connection.
    setTimeout(() => this.#socket.destroy(), partingMs).unref()
  }

  #lost(reason: Error | undefined): void {
    this.#isLeaving = true
    this.#events.onLeaving()
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

/** Reads the head of an answer. Throws a RangeError or SyntaxError for any other text. */
function readHead(text: string): AnswerHead {
  const head: unknown = JSON.parse(text)
  const [status, headers] = Array.isArray(head) ? head : []
  if (typeof status !== 'number' || typeof headers !== 'object' || headers === null) {
    throw new RangeError('no head of an answer')
  }
  return [status, headers]
}

/** One call over a link, which the caller may abort; a class, since each call makes one. */
class LinkedCall implements Dispatcher.DispatchController {
  readonly id: number
  readonly request: LinkedRequest
  readonly handler: LinkedHandler
  readonly paused = false
  /** Undefined until it was sent. */
  sentMs: number | undefined
  /** The call takes another route, which completes its handler. */
  isReturned = false
  aborted = false
  reason: Error | null = null
  readonly #link: Link

  constructor(link: Link, id: number, request: LinkedRequest, handler: LinkedHandler) {
    this.#link = link
    this.id = id
    this.request = request
    this.handler = handler
  }

  start(): void {
    this.handler.onRequestStart?.(this, undefined)
  }

  answer(status: number, headers: Record<string, string>, body: Buffer): void {
    const { handler } = this
    handler.onResponseStart?.(this, status, headers)
    if (!this.aborted) handler.onResponseData?.(this, body)
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
    this.#link.giveUp(this)
    this.fail(reason)
  }

  /** Does nothing: an answer arrives complete, so there is nothing to hold back. */
  pause(): void {}

  resume(): void {}
}

/** How a server answered the preface: with frames, with something else, or not at all. */
export type HandshakeResult = 'frames' | 'other' | 'silence'

/**
 * Sends the preface on a fresh connection and reports what the peer made of it. Never rejects; the connection is
 * destroyed unless the peer speaks frames.
 */
export function handshake(socket: Socket, timeoutMs: number): Promise<HandshakeResult> {
  const { promise, resolve } = Promise.withResolvers<HandshakeResult>()
  let seen = Buffer.alloc(0)
  const timer = setTimeout(() => socket.destroy(), timeoutMs).unref()
  const onClose = () => finish('silence')
  function onData(chunk: Buffer): void {
    seen = Buffer.concat([seen, chunk])
    const isAlike = preface.subarray(0, seen.length).equals(seen.subarray(0, preface.length))
    if (!isAlike) finish('other')
    else if (seen.length >= preface.length) finish('frames')
  }
  function finish(result: HandshakeResult): void {
    clearTimeout(timer)
    socket.off('data', onData)
    socket.off('close', onClose)
    socket.pause()
    if (result !== 'frames') socket.destroy()
    else if (seen.length > preface.length) socket.unshift(seen.subarray(preface.length))
    resolve(result)
  }
  socket.on('data', onData)
  socket.once('close', onClose)
  socket.on('error', () => undefined)
  socket.unref()
  socket.write(preface)
  return promise
}
