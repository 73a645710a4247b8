// Limits the requests in flight, by connection and in the whole process, and reports the end of each.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** How many requests may be in flight. */
export type InFlightLimits = {
  /** Dispatched and not yet answered, on one connection. Further ones wait, and the connection is paused. */
  perConnection: number
  /** Being processed, in the whole process. */
  working: number
  /** Parsed and not yet answered, in the whole process, waiting ones included. */
  open: number
}

/** The limits of a process. A request that is being processed takes about 11 KiB of memory, a waiting one 2 KiB. */
const inFlightLimits: InFlightLimits = { perConnection: 16, working: 4_096, open: 8_192 }

/**
 * How a request ended: the answer was sent; the client disconnected before; or the connection was refused before the whole
 * request had arrived.
 */
export type Ending = 'answered' | 'aborted' | 'refused'

/** One request with its response. */
type Exchange = {
  request: IncomingMessage
  response: ServerResponse
  handle: RequestListener
  connection: Connection
  /** It counts against `working`. */
  isWork: boolean
  /** The answer has been made. */
  isAnswered: boolean
  /** The answer was sent, or the connection is closed. */
  isClosed: boolean
  /** Its connection was refused before the whole request had arrived. */
  isRefused: boolean
  onEnd: ((ending: Ending) => void) | undefined
}

type Connection = {
  socket: Socket
  /** Dispatched and not closed, in the order of arrival, which is the order of the answers. */
  open: Exchange[]
  waiting: Exchange[]
  isPaused: boolean
  /** No further request is dispatched. */
  isEnding: boolean
  /** Runs when all requests that arrived whole have been answered. */
  onAllAnswered: (() => void) | undefined
}

const exchangeKey = Symbol('exchange')
type WithExchange = { [exchangeKey]?: Exchange }

/** The requests in flight of one server. */
export type InFlight = {
  /** Wraps a request handler, which must lead to a call of `answered` for each request. */
  listener(handle: RequestListener): RequestListener
  /** Counts a request as being processed. False, without counting it, at the limit. */
  startWork(request: IncomingMessage): boolean
  /** Ends the processing of a request: its answer has been made. */
  answered(request: IncomingMessage): void
  /** Calls `then` once the answer of a request has been made and sent, or cannot be sent any more. */
  onEnd(request: IncomingMessage, then: (ending: Ending) => void): void
  /**
   * Calls `then` once all requests that arrived whole on a connection have been answered, and dispatches no further ones.
   * `wasPaused`: the connection was paused, so the client is not to blame for data that is late.
   */
  whenAnswered(socket: Socket, then: (wasPaused: boolean) => void): void
  /** Closes each connection after the answers to its present requests, from now on. */
  drain(): void
  /** Requests that have arrived and not ended. */
  count(): number
}

/** The state of one server. */
type State = {
  limits: InFlightLimits
  onShed: () => void
  connections: Map<Socket, Connection>
  /** Requests that arrived and whose responses are not sent. */
  open: number
  /** Requests that a handler is processing. */
  working: number
  /** Requests that arrived and have not ended: a handler may still work for a client that has disconnected. */
  pendingCalls: number
  isDraining: boolean
}

/** Makes the limits of one server. Calls `onShed` for each connection that is closed because of `limits.open`. */
export function createInFlight(
  limits: InFlightLimits = inFlightLimits,
  onShed: () => void = () => {},
): InFlight {
  const counts = { open: 0, working: 0, pendingCalls: 0 }
  const state: State = { limits, onShed, connections: new Map(), ...counts, isDraining: false }
  return {
    listener: (handle) => (request, response) => {
      const connection = connectionOf(state, request.socket)
      const exchange = newExchange(request, response, handle, connection)
      ;(request as WithExchange)[exchangeKey] = exchange
      receive(state, exchange)
    },
    startWork(request) {
      const exchange = exchangeOf(request)
      if (exchange === undefined || exchange.isWork) return true
      if (state.working >= limits.working) return false
      exchange.isWork = true
      state.working += 1
      return true
    },
    answered(request) {
      const exchange = exchangeOf(request)
      if (exchange === undefined || exchange.isAnswered) return
      exchange.isAnswered = true
      if (exchange.isWork) state.working -= 1
      endIfDone(state, exchange)
    },
    onEnd(request, then) {
      const exchange = exchangeOf(request)
      if (exchange !== undefined) exchange.onEnd = then
    },
    whenAnswered(socket, then) {
      const connection = state.connections.get(socket)
      if (connection === undefined) then(false)
      // Only the first problem of a connection counts.
      if (connection === undefined || connection.onAllAnswered !== undefined) return
      const { isPaused } = connection
      connection.onAllAnswered = () => then(isPaused)
      pause(connection)
      dispatchWaiting(state, connection)
    },
    drain() {
      state.isDraining = true
      for (const { open } of state.connections.values()) {
        const last = open.at(-1)
        if (last !== undefined) closeAfter(state, last)
      }
    },
    count: () => state.pendingCalls,
  }
}

function connectionOf(state: State, socket: Socket): Connection {
  const known = state.connections.get(socket)
  if (known !== undefined) return known
  const connection = newConnection(socket)
  state.connections.set(socket, connection)
  socket.once('close', () => onSocketClosed(state, connection))
  // Reading the body of a request resumes the whole connection.
  socket.on('resume', () => {
    if (connection.isPaused) socket.pause()
  })
  return connection
}

function receive(state: State, exchange: Exchange): void {
  const { connection } = exchange
  const { open, waiting, socket } = connection
  if (connection.isEnding) return
  if (state.open >= state.limits.open && open.length > 0) {
    state.onShed()
    socket.destroy()
    return
  }
  state.open += 1
  state.pendingCalls += 1
  if (waiting.length === 0 && open.length < state.limits.perConnection) {
    dispatch(state, exchange)
    return
  }
  waiting.push(exchange)
  pause(connection)
}

function dispatch(state: State, exchange: Exchange): void {
  const { connection, request, response, handle } = exchange
  connection.open.push(exchange)
  response.once('close', () => onResponseClosed(state, exchange))
  if (state.isDraining) closeAfter(state, exchange)
  handle(request, response)
}

/** Closes the connection after the answer to this request. */
function closeAfter(state: State, { connection, response }: Exchange): void {
  if (response.headersSent) return
  response.shouldKeepAlive = false
  connection.isEnding = true
  dropWaiting(state, connection)
}

function dropWaiting(state: State, connection: Connection): void {
  state.open -= connection.waiting.length
  state.pendingCalls -= connection.waiting.length
  connection.waiting = []
}

/** The answer was sent, or the connection is closed. */
function onResponseClosed(state: State, exchange: Exchange): void {
  if (exchange.isClosed) return
  exchange.isClosed = true
  state.open -= 1
  const { open } = exchange.connection
  open.splice(open.indexOf(exchange), 1)
  endIfDone(state, exchange)
  dispatchWaiting(state, exchange.connection)
}

function endIfDone(state: State, exchange: Exchange): void {
  if (!exchange.isAnswered || !exchange.isClosed) return
  state.pendingCalls -= 1
  exchange.onEnd?.(endingOf(exchange))
}

/** Dispatches waiting requests, and resumes the connection when none is left. */
function dispatchWaiting(state: State, connection: Connection): void {
  const { open } = connection
  while (connection.waiting.length > 0 && open.length < state.limits.perConnection) {
    dispatch(state, connection.waiting.shift() as Exchange)
  }
  if (connection.waiting.length > 0) return
  const { onAllAnswered } = connection
  if (onAllAnswered === undefined) {
    if (open.length < state.limits.perConnection) resume(connection)
    return
  }
  if (open.some(({ request }) => request.complete)) return
  for (const exchange of open) exchange.isRefused = true
  connection.onAllAnswered = undefined
  connection.isEnding = true
  resume(connection)
  onAllAnswered()
}

/** The connection is closed: its answers cannot be sent any more. */
function onSocketClosed(state: State, connection: Connection): void {
  state.connections.delete(connection.socket)
  connection.isEnding = true
  connection.onAllAnswered = undefined
  dropWaiting(state, connection)
  for (const exchange of connection.open.slice()) onResponseClosed(state, exchange)
}

/** Whether the connection of a request was refused before the whole request had arrived. */
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
  const states = { isPaused: false, isEnding: false, onAllAnswered: undefined }
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
