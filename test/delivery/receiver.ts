// A receiver of pushes on loopback that responds as a test configures it. It knows nothing of deliveries.
import http from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'

/** One request as it arrived. */
export interface Received {
  path: string
  headers: http.IncomingHttpHeaders
  body: string
  /** Port of the sender's socket: equal ones came over one connection. */
  clientPort: number
}

/** Answers one request. */
export type Responder = (request: Received, response: http.ServerResponse) => void

/** A receiver that listens. */
export interface Receiver {
  url: string
  port: number
  requests: Received[]
  /** Connections that were opened to it. */
  connections(): number
  /** Changes how it answers from now on. */
  answer(answer: Responder): void
  close(): Promise<void>
}

/** Answers every request with a status and headers. */
export function status(code: number, headers: http.OutgoingHttpHeaders = {}): Responder {
  return (_request, response) => {
    response.writeHead(code, headers).end('{"ok":true}')
  }
}

/** Starts a receiver on a free port of 127.0.0.1; with TLS when given a key and certificate. */
export async function startReceiver(
  first: Responder = status(200),
  tls?: { key: string; cert: string },
): Promise<Receiver> {
  const requests: Received[] = []
  let answer = first
  let connections = 0
  const listener: http.RequestListener = (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('error', () => undefined)
    response.on('error', () => undefined)
    request.on('end', () => {
      const received = {
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
        clientPort: request.socket.remotePort ?? 0,
      }
      requests.push(received)
      answer(received, response)
    })
  }
  const server = tls === undefined ? http.createServer(listener) : https.createServer(tls, listener)
  server.on('connection', () => {
    connections += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    port,
    requests,
    connections: () => connections,
    answer(next) {
      answer = next
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
