// Makes the HTTP server of the public port, with its limits of size and time.
import http from 'node:http'

/** Maximum of all headers of a request together, its path included. */
export const maxHeaderBytes = 16 * 1024
/** Time for a client to send a request. */
export const requestTimeoutMs = 30_000
const headersTimeoutMs = 10_000
// Longer than the idle timeout of usual load balancers (60 s), so that they close a connection before the gateway does.
const keepAliveTimeoutMs = 72_000
// Longer than any response takes. Closes connections of clients that do not read their responses.
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
