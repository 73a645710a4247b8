// Answers a call that was not admitted, in the protocol that it was made in.

import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { ConnectError } from '@connectrpc/connect'
import { codeToHttpStatus, errorToJson } from '@connectrpc/connect/protocol-connect'
import { setTrailerStatus } from '@connectrpc/connect/protocol-grpc'
import { endStreamEnvelope } from '../error-responses.ts'
import { retryAfterOf } from '../errors.ts'

/** Writes the whole response to a refused call; the body of the request is never read. */
export function refuse(
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
  error: ConnectError,
): void {
  const contentType = request.headers['content-type'] ?? ''
  if (contentType.startsWith('application/grpc')) refuseGrpc(response, contentType, error)
  else if (contentType.startsWith('application/connect+')) {
    write(response, 200, { 'content-type': contentType }, endStreamEnvelope(error))
  } else {
    const json = Buffer.from(JSON.stringify(errorToJson(error, undefined)))
    const headers = { 'content-type': 'application/json', ...retryAfterOf(error) }
    write(response, codeToHttpStatus(error.code), headers, json)
  }
}

// Writes one block of headers that ends the stream, which gRPC calls trailers-only.
function refuseGrpc(
  response: ServerResponse | Http2ServerResponse,
  contentType: string,
  error: ConnectError,
): void {
  const status = Object.fromEntries(setTrailerStatus(new Headers(), error))
  const headers = { 'content-type': contentType, ...status }
  if (response instanceof ServerResponse) response.writeHead(200, headers).end()
  else if (!response.stream.destroyed && !response.stream.headersSent) {
    response.stream.respond({ ':status': 200, ...headers }, { endStream: true })
  }
}

function write(
  response: ServerResponse | Http2ServerResponse,
  status: number,
  given: Record<string, string>,
  body: Buffer,
): void {
  const headers = { ...given, 'content-length': body.length }
  if (response instanceof ServerResponse) response.writeHead(status, headers).end(body)
  else response.writeHead(status, headers).end(body)
}
