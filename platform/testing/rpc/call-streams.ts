// Both ends of a call stream, which send what a test scripts; for tests only.

import { once } from 'node:events'
import http2 from 'node:http2'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import {
  type StreamCallsRequest,
  StreamCallsRequestSchema,
  type StreamCallsResponse,
  StreamCallsResponseSchema,
} from '#gen/payweave/rpc/v1/call_pb.js'
import { callStreamPath, MessageReader } from '../../rpc/call-stream/messages.ts'

type RequestInit = MessageInitShape<typeof StreamCallsRequestSchema>
type ResponseInit = MessageInitShape<typeof StreamCallsResponseSchema>

const maxBytes = 8 << 20

/** A message in the envelope of gRPC and of Connect's streams; `declaredBytes` may differ from its real length. */
export function enveloped(message: Uint8Array, declaredBytes = message.byteLength): Buffer {
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(declaredBytes, 1)
  return Buffer.concat([prefix, message])
}

/** A call, or the end of one, as it is sent. */
export function requestBytes(request: RequestInit): Buffer {
  return enveloped(toBinary(StreamCallsRequestSchema, create(StreamCallsRequestSchema, request)))
}

/** The server's end of a stream. */
export interface Peer {
  stream: http2.ServerHttp2Stream
  /** The method that the client named. */
  path: string
  /** What was received, except calls to `/up`, which are answered at once. */
  calls: StreamCallsRequest[]
  /** The number of calls to `/up`. */
  up: number
  /** Waits for `count` calls. */
  came(count: number): Promise<StreamCallsRequest[]>
  /** Sends a response. */
  say(response: ResponseInit): void
}

/** The server. */
export interface CallStreamServer {
  origin: string
  peers: Peer[]
  /** Requests that came over HTTP/1.1; they are answered with 204. */
  requests: number
  /** Accepts no more connections; streams stay. */
  refuse(): void
  /** Cuts all connections and stops listening. */
  close(): Promise<void>
}

/** Starts a server of call streams on a free port, in clear text. The caller closes it. */
export async function startCallStreamServer(): Promise<CallStreamServer> {
  const sockets = new Set<Socket>()
  const streaming = http2.createServer()
  streaming.on('stream', (stream, { ':path': path = '' }) =>
    started.peers.push(servePeer(stream, path)),
  )
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('data', (hello: Buffer) => {
      if (hello.toString('latin1').startsWith('PRI')) {
        socket.pause()
        socket.unshift(hello)
        streaming.emit('connection', socket)
        return
      }
      started.requests += 1
      socket.end('HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const started: CallStreamServer = {
    origin: `http://127.0.0.1:${port}`,
    peers: [],
    requests: 0,
    refuse: () => void server.close(),
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return started
}

function servePeer(stream: http2.ServerHttp2Stream, path: string): Peer {
  const calls: StreamCallsRequest[] = []
  const peer: Peer = {
    stream,
    path,
    calls,
    up: 0,
    async came(count) {
      while (calls.length < count) await once(stream, 'message')
      return calls
    },
    say(response) {
      const message = create(StreamCallsResponseSchema, response)
      stream.write(enveloped(toBinary(StreamCallsResponseSchema, message)))
    },
  }
  const reader = new MessageReader(maxBytes, (message) => {
    const call = fromBinary(StreamCallsRequestSchema, message)
    if (call.path === '/up') {
      peer.up += 1
      peer.say({ callId: call.callId })
    } else calls.push(call)
    stream.emit('message')
  })
  stream.on('error', () => undefined)
  stream.on('data', (chunk: Buffer) => reader.read(chunk))
  stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' })
  return peer
}

/** The client's end of a stream. */
export interface Dialled {
  stream: http2.ClientHttp2Stream
  /** The response headers. */
  head: http2.IncomingHttpHeaders
  /** The gRPC status with which the stream ends; undefined when it is cut. */
  ended: Promise<string | undefined>
  /** Sends calls in one write. */
  send(...requests: RequestInit[]): void
  /** The next response. */
  next(): Promise<StreamCallsResponse>
  /** Cuts the connection. */
  close(): void
}

/** How to reach a server. */
export interface DialOptions {
  /** Of the stream. */
  authorization?: string | undefined
  path?: string
  contentType?: string
  /** Deadline of the stream, as gRPC writes it. */
  timeout?: string
  tls?: http2.SecureClientSessionOptions
}

/**
 * Opens a stream at a port of this machine. Waits for the head of the response. Rejects with the error of the stream,
 * or with one that says so, when it closes without a response.
 */
export async function dialCallStream(port: number, options: DialOptions = {}): Promise<Dialled> {
  const { authorization, path = callStreamPath, timeout, tls } = options
  const { contentType = 'application/grpc+proto' } = options
  const scheme = tls === undefined ? 'http' : 'https'
  const session = http2.connect(`${scheme}://127.0.0.1:${port}`, { maxSessionMemory: 100, ...tls })
  session.on('error', () => undefined)
  const headers = { 'content-type': contentType, te: 'trailers' }
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    ...headers,
    ...(authorization === undefined ? {} : { authorization }),
    ...(timeout === undefined ? {} : { 'grpc-timeout': timeout }),
  })
  stream.on('error', () => undefined)
  let status: string | undefined
  stream.once('trailers', (trailers) => {
    status = trailers['grpc-status'] as string | undefined
  })
  const ended = new Promise<string | undefined>((resolve) => {
    stream.once('close', () => resolve(status))
  })
  const responses: StreamCallsResponse[] = []
  const reader = new MessageReader(maxBytes, (message) => {
    responses.push(fromBinary(StreamCallsResponseSchema, message))
    stream.emit('message')
  })
  stream.on('data', (chunk: Buffer) => reader.read(chunk))
  const head = await new Promise<http2.IncomingHttpHeaders>((resolve, reject) => {
    stream.once('response', resolve)
    stream.once('error', reject)
    stream.once('close', () => reject(new Error('the stream closed without a response')))
  }).catch((error: unknown) => {
    session.destroy()
    throw error
  })
  return {
    stream,
    head,
    ended,
    send: (...requests) => void stream.write(Buffer.concat(requests.map(requestBytes))),
    async next() {
      while (responses.length === 0) await once(stream, 'message')
      return responses.shift() as StreamCallsResponse
    },
    close: () => session.destroy(),
  }
}
