// One port for HTTP/1.1 and HTTP/2, distinguished by the TLS handshake or, in plain text, by the first bytes.

import type { Server } from 'node:http'
import {
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type Http2Session,
  type ServerHttp2Session,
} from 'node:http2'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { type MeshTls, recordPeer } from '../auth/tls.ts'

const http2Preface = Buffer.from('PRI')
const firstBytesTimeoutMs = 10_000
const idleSessionMs = 600_000
const pollMs = 50
/**
 * Streams that clients assume to have before they receive our settings; with fewer, clients that do not retry would
 * lose calls.
 */
const streamsAtFirst = 100
const streamsOfKnown = 256
/** Maximum bytes that a peer may send on a stream that is not read. */
const streamWindowBytes = 65_535

/** Closes what a server that listens would otherwise wait for. */
export interface SharedPort {
  /** Sends GOAWAY to every HTTP/2 peer and waits for `forMs`; connections that come meanwhile are served. */
  leave(forMs: number): Promise<void>
  /**
   * Lets calls in flight end for `graceMs`, then cuts every connection. `stopped` is the listener's own end; rejects as
   * it does.
   */
  drain(stopped: Promise<unknown>, graceMs: number): Promise<void>
}

/** How a port is guarded. */
export interface PortGuard {
  /** What peers are shown, and must show. */
  tls: MeshTls
  /** Called with the error of a failed TLS handshake. */
  onRefused(error: Error): void
}

/** Answers a request of HTTP/2. */
export type Http2Handler = (request: Http2ServerRequest, response: Http2ServerResponse) => void

/**
 * Puts HTTP/2 in front of the listener of `http1`, which keeps all other connections. Malformed connections are cut.
 * Throws OpenSSL's error for certificates that do not belong together.
 */
export function sharePort(http1: Server, handler: Http2Handler, guard?: PortGuard): SharedPort {
  const http2 = createHttp2(handler)
  const sessions = new Set<ServerHttp2Session>()
  const sockets = new Set<Socket>()
  const undecided = new Set<Socket>()
  let draining = false

  http2.on('session', (session: ServerHttp2Session) => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
    session.setTimeout(idleSessionMs, () => session.close())
    // Without this, a peer that never finishes the handshake would hold the connection until the idle time-out.
    const handshake = setTimeout(() => session.destroy(), firstBytesTimeoutMs).unref()
    session.once('remoteSettings', () => clearTimeout(handshake))
    session.once('close', () => clearTimeout(handshake))
    if (draining) session.close()
  })

  const open = routeConnection(http1, http2, guard, undecided)
  http1.removeAllListeners('connection')
  http1.on('connection', (socket: Socket) => {
    if (draining) {
      socket.destroy()
      return
    }
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    open(socket)
  })

  return {
    async leave(forMs) {
      if (forMs <= 0) return
      for (const session of sessions) session.close()
      await delay(forMs)
    },
    async drain(stopped, graceMs) {
      draining = true
      for (const socket of undecided) socket.destroy()
      for (const session of sessions) session.close()
      // A connection that turns idle after the listener stopped is not closed by node itself.
      const idle = setInterval(() => http1.closeIdleConnections(), pollMs)
      const cut = setTimeout(() => {
        for (const session of sessions) session.destroy()
        for (const socket of sockets) socket.destroy()
      }, graceMs)
      try {
        await stopped
      } finally {
        clearInterval(idle)
        clearTimeout(cut)
      }
    },
  }
}

/** Routes a fresh connection to the server of its protocol; connections in `undecided` have not shown theirs yet. */
function routeConnection(
  http1: Server,
  http2: Http2Server,
  guard: PortGuard | undefined,
  undecided: Set<Socket>,
): (socket: Socket) => void {
  const accept = http1.listeners('connection') as Array<(socket: Socket) => void>
  const serve = (socket: Socket, isHttp2: boolean): void => {
    if (isHttp2) serveHttp2(http2, socket)
    else for (const listener of accept) listener.call(http1, socket)
  }
  const sniff = (socket: Socket): void => {
    undecided.add(socket)
    decide(socket, (isHttp2) => {
      undecided.delete(socket)
      if (isHttp2 !== undefined) serve(socket, isHttp2)
    })
  }
  if (guard === undefined) return sniff
  return handshakes(guard, (socket, isHttp2) => {
    if (isHttp2) serve(socket, true)
    else sniff(socket)
  })
}

function serveHttp2(http2: Http2Server, socket: Socket): void {
  // No half-open connections: otherwise a disconnected caller would count as connected until the deadline.
  socket.allowHalfOpen = false
  http2.emit('connection', socket)
}

/** Allows more concurrent streams to a session over which an authenticated caller has called. */
export function raiseStreams(session: Http2Session | undefined): void {
  if (session?.destroyed !== false) return
  session.settings({ maxConcurrentStreams: streamsOfKnown })
}

function createHttp2(handler: Http2Handler): Http2Server {
  const http2 = createServer(
    {
      settings: {
        maxConcurrentStreams: streamsAtFirst,
        initialWindowSize: streamWindowBytes,
        maxHeaderListSize: 16_384,
      },
      maxSessionMemory: 32,
      // A client that opens and resets streams is cut off after this many, then at this rate a second.
      streamResetBurst: 500,
      streamResetRate: 50,
    },
    handler,
  )
  // Malformed frames end their session; without a listener they would end the process.
  http2.on('sessionError', () => undefined)
  http2.on('error', () => undefined)
  return http2
}

/** Performs the TLS handshake of connections and stores their certificates with them. */
function handshakes(
  { tls, onRefused }: PortGuard,
  serve: (socket: TLSSocket, isHttp2: boolean) => void,
): (socket: Socket) => void {
  let material = tls.current()
  const server = createTlsServer({
    ...material.options,
    requestCert: true,
    rejectUnauthorized: true,
    ALPNProtocols: ['h2', 'http/1.1'],
    handshakeTimeout: firstBytesTimeoutMs,
  })
  server.on('secureConnection', (socket: TLSSocket) => {
    recordPeer(socket)
    serve(socket, socket.alpnProtocol === 'h2')
  })
  server.on('tlsClientError', onRefused)
  return (socket) => {
    const current = tls.current()
    if (current !== material) {
      material = current
      server.setSecureContext(current.options)
    }
    // The listener allows half-open sockets for HTTP; one whose peer ends during the handshake would stay for ever.
    socket.allowHalfOpen = false
    server.emit('connection', socket)
  }
}

/** Reads until the peer's protocol is clear; calls back with undefined when the peer left before that. */
function decide(socket: Socket, decided: (isHttp2: boolean | undefined) => void): void {
  let seen: Buffer = Buffer.alloc(0)
  const timer = setTimeout(() => socket.destroy(), firstBytesTimeoutMs)
  const onError = () => socket.destroy()
  const onClose = () => finish(undefined)

  function finish(isHttp2: boolean | undefined): void {
    clearTimeout(timer)
    socket.off('readable', onReadable)
    socket.off('error', onError)
    socket.off('close', onClose)
    if (isHttp2 !== undefined) socket.unshift(seen)
    decided(isHttp2)
  }

  function onReadable(): void {
    const chunk = socket.read() as Buffer | null
    if (chunk === null) {
      // Node.js announces the end of a stream as `readable` with nothing to read.
      if (socket.readableEnded) socket.destroy()
      return
    }
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk])
    const length = Math.min(seen.length, http2Preface.length)
    const isAlike = http2Preface.compare(seen, 0, length, 0, length) === 0
    if (!isAlike) finish(false)
    else if (length === http2Preface.length) finish(true)
  }

  socket.on('readable', onReadable)
  socket.on('error', onError)
  socket.on('close', onClose)
}
