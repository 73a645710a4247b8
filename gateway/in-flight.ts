// Bounds the requests in flight, on a connection and in the whole process, and says when each of them has ended.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** How many requests there may be at once. */
export type InFlightLimits = {
  /** Handed on and not yet answered, on one connection. Those behind them wait, and no more are read. */
  perConnection: number
  /** Worked on, in the whole process. */
  working: number
  /** Read and not yet answered, in the whole process, waiting ones included. */
  open: number
}

/** The limits of a process. A request that is worked on takes about 11 KiB, one that waits 2 KiB. */
export const inFlightLimits: InFlightLimits = { perConnection: 16, working: 4_096, open: 8_192 }

/**
 * How a request ended: its answer is out; its client went away before; or its connection was refused before the whole
 * request had come.
 */
export type Ending = 'answered' | 'aborted' | 'refused'

/** One request with its response. */
type Exchange = {
  request: IncomingMessage
  response: ServerResponse
  handle: RequestListener
  connection: Connection
  isWork: boolean
  /** Its answer has been made. */
  isAnswered: boolean
  /** Its answer is out, or its connection is gone. */
  isClosed: boolean
  isRefused: boolean
  onEnd: ((ending: Ending) => void) | undefined
}

type Connection = {
  socket: Socket
  /** Handed on and not closed, in the order in which they came, which is that of the answers. */
  open: Exchange[]
  waiting: Exchange[]
  isPaused: boolean
  /** Nothing further is handed on. */
  isEnding: boolean
  /** What happens when everything that came whole has been answered. */
  afterwards: (() => void) | undefined
}

const exchangeKey = Symbol('exchange')
type WithExchange = { [exchangeKey]?: Exchange }

/** The bounds of one server. */
export type InFlight = {
  /** Wraps what answers requests. It must call `answered` for each of them. */
  listener(handle: RequestListener): RequestListener
  /** Counts a request as worked on; false when there are as many as there may be. */
  startWork(request: IncomingMessage): boolean
  /** The answer of a request has been made: nothing works on it any more. */
  answered(request: IncomingMessage): void
  /** Calls `then` once the request has been answered and its answer is out, or cannot get out any more. */
  onEnd(request: IncomingMessage, then: (ending: Ending) => void): void
  /**
   * Calls `then` once the requests that came whole on a connection have been answered; nothing more of it is handed on
   * after them. `wasPaused` says that the rest may be late because of us.
   */
  whenAnswered(socket: Socket, then: (wasPaused: boolean) => void): void
  /** From now on each connection ends with the answers of the requests that it has. */
  drain(): void
  /** Requests that came and have not ended. */
  count(): number
}

/** What one server holds. */
type Held = {
  limits: InFlightLimits
  onCut: () => void
  connections: Map<Socket, Connection>
  open: number
  working: number
  unended: number
  isDraining: boolean
}

/** Makes the bounds of one server. `onCut` hears of each connection that is cut since the process holds too much. */
export function createInFlight(
  limits: InFlightLimits = inFlightLimits,
  onCut: () => void = () => {},
): InFlight {
  const counts = { open: 0, working: 0, unended: 0 }
  const held: Held = { limits, onCut, connections: new Map(), ...counts, isDraining: false }
  return {
    listener: (handle) => (request, response) => {
      const connection = connectionOf(held, request.socket)
      const exchange = newExchange(request, response, handle, connection)
      ;(request as WithExchange)[exchangeKey] = exchange
      arrive(held, exchange)
    },
    startWork(request) {
      const exchange = exchangeOf(request)
      if (exchange === undefined || exchange.isWork) return true
      if (held.working >= limits.working) return false
      exchange.isWork = true
      held.working += 1
      return true
    },
    answered(request) {
      const exchange = exchangeOf(request)
      if (exchange === undefined || exchange.isAnswered) return
      exchange.isAnswered = true
      if (exchange.isWork) held.working -= 1
      endIfOver(held, exchange)
    },
    onEnd(request, then) {
      const exchange = exchangeOf(request)
      if (exchange !== undefined) exchange.onEnd = then
    },
    whenAnswered(socket, then) {
      const connection = held.connections.get(socket)
      if (connection === undefined) then(false)
      // After a first trouble with a connection, further ones change nothing.
      if (connection === undefined || connection.afterwards !== undefined) return
      const { isPaused } = connection
      connection.afterwards = () => then(isPaused)
      pause(connection)
      advance(held, connection)
    },
    drain() {
      held.isDraining = true
      for (const { open } of held.connections.values()) {
        const last = open.at(-1)
        if (last !== undefined) endWith(held, last)
      }
    },
    count: () => held.unended,
  }
}

function connectionOf(held: Held, socket: Socket): Connection {
  const known = held.connections.get(socket)
  if (known !== undefined) return known
  const connection = newConnection(socket)
  held.connections.set(socket, connection)
  socket.once('close', () => leave(held, connection))
  // Reading the body of a request resumes its whole connection.
  socket.on('resume', () => {
    if (connection.isPaused) socket.pause()
  })
  return connection
}

function arrive(held: Held, exchange: Exchange): void {
  const { connection } = exchange
  const { open, waiting, socket } = connection
  if (connection.isEnding) return
  if (held.open >= held.limits.open && open.length > 0) {
    held.onCut()
    socket.destroy()
    return
  }
  held.open += 1
  held.unended += 1
  if (waiting.length === 0 && open.length < held.limits.perConnection) {
    handOn(held, exchange)
    return
  }
  waiting.push(exchange)
  pause(connection)
}

function handOn(held: Held, exchange: Exchange): void {
  const { connection, request, response, handle } = exchange
  connection.open.push(exchange)
  response.once('close', () => close(held, exchange))
  if (held.isDraining) endWith(held, exchange)
  handle(request, response)
}

/** The answer of this request becomes the last of its connection. */
function endWith(held: Held, { connection, response }: Exchange): void {
  if (response.headersSent) return
  response.shouldKeepAlive = false
  connection.isEnding = true
  dropWaiting(held, connection)
}

function dropWaiting(held: Held, connection: Connection): void {
  held.open -= connection.waiting.length
  held.unended -= connection.waiting.length
  connection.waiting = []
}

/** The answer is out, or its connection is gone. */
function close(held: Held, exchange: Exchange): void {
  if (exchange.isClosed) return
  exchange.isClosed = true
  held.open -= 1
  const { open } = exchange.connection
  open.splice(open.indexOf(exchange), 1)
  endIfOver(held, exchange)
  advance(held, exchange.connection)
}

function endIfOver(held: Held, exchange: Exchange): void {
  if (!exchange.isAnswered || !exchange.isClosed) return
  held.unended -= 1
  exchange.onEnd?.(endingOf(exchange))
}

/** Hands on what waits, and reads on when nothing does. */
function advance(held: Held, connection: Connection): void {
  const { open } = connection
  while (connection.waiting.length > 0 && open.length < held.limits.perConnection) {
    handOn(held, connection.waiting.shift() as Exchange)
  }
  if (connection.waiting.length > 0) return
  const { afterwards } = connection
  if (afterwards === undefined) {
    if (open.length < held.limits.perConnection) resume(connection)
    return
  }
  if (open.some(({ request }) => request.complete)) return
  for (const exchange of open) exchange.isRefused = true
  connection.afterwards = undefined
  connection.isEnding = true
  resume(connection)
  afterwards()
}

/** The connection is gone: nobody gets the answers that are still to come. */
function leave(held: Held, connection: Connection): void {
  held.connections.delete(connection.socket)
  connection.isEnding = true
  connection.afterwards = undefined
  dropWaiting(held, connection)
  for (const exchange of connection.open.slice()) close(held, exchange)
}

/** Whether the connection of a request was refused before the whole request had come. */
export function wasRefused(request: IncomingMessage): boolean {
  return exchangeOf(request)?.isRefused === true
}

function exchangeOf(request: IncomingMessage): Exchange | undefined {
  return (request as WithExchange)[exchangeKey]
}

function newExchange(
  request: IncomingMessage,
  response: ServerResponse,
  handle: RequestListener,
  connection: Connection,
): Exchange {
  const states = { isWork: false, isAnswered: false, isClosed: false, isRefused: false }
  return { request, response, handle, connection, ...states, onEnd: undefined }
}

function endingOf({ isRefused, response }: Exchange): Ending {
  if (isRefused) return 'refused'
  return response.writableFinished ? 'answered' : 'aborted'
}

function newConnection(socket: Socket): Connection {
  const states = { isPaused: false, isEnding: false, afterwards: undefined }
  return { socket, open: [], waiting: [], ...states }
}

function pause(connection: Connection): void {
  if (connection.isPaused) return
  connection.isPaused = true
  connection.socket.pause()
}

function resume(connection: Connection): void {
  if (!connection.isPaused) return
  connection.isPaused = false
  connection.socket.resume()
}
