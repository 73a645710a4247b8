// Makes the HTTP server of the public port, with its limits of size and time.
import http from 'node:http'

/** All headers of a request together, and so its path too. */
export const maxHeaderBytes = 16 * 1024
/** Time for a client to send a request. */
export const requestTimeoutMs = 30_000
const headersTimeoutMs = 10_000
// Longer than the idle time of usual load balancers, so that they close first.
const keepAliveTimeoutMs = 72_000
// Longer than any answer takes. Closes connections of clients that do not read their answers.
const silenceTimeoutMs = 90_000

/** `sendTimeoutMs` is the time for a client to send a request. */
export function createHttpServer(listener: http.RequestListener, sendTimeoutMs: number) {
  const server = http.createServer(
    {
      maxHeaderSize: maxHeaderBytes,
      requestTimeout: sendTimeoutMs,
      headersTimeout: Math.min(headersTimeoutMs, sendTimeoutMs),
      keepAliveTimeout: keepAliveTimeoutMs,
      connectionsCheckingInterval: 1_000,
      requireHostHeader: false,
    },
    listener,
  )
  server.setTimeout(silenceTimeoutMs)
  return server
}
