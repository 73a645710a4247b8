// Admits or answers a request of either version of HTTP before Connect sees it.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { createContextValues } from '@connectrpc/connect'
import { peerOf, peerRefusal } from '../auth/tls.ts'
import { malformed } from '../errors.ts'
import { type Connection, type Connections, tooManyCalls } from '../limits/limits.ts'
import { type BodyDropper, resetUnread } from '../limits/unread.ts'
import type { Admit } from './admission.ts'
import { refuse } from './refusal.ts'
import { type CallLog, type ServedCall, servedCallKey } from './served-call.ts'

type AnyRequest = IncomingMessage | Http2ServerRequest
type AnyResponse = ServerResponse | Http2ServerResponse

/** The step before Connect. */
export type Edge = ReturnType<typeof createEdge>

/**
 * Makes the edge of a server: it admits a request or answers it. On a guarded port calls are checked against the
 * certificate of their connection.
 */
export function createEdge(
  admit: Admit,
  callLog: CallLog,
  connections: Connections,
  dropper: BodyDropper,
  isGuarded: boolean,
) {
  const calls = new WeakMap<AnyRequest, ServedCall>()

  function refusalOf(request: AnyRequest, call: ServedCall, connection: Connection) {
    const refusal = isGuarded ? peerRefusal(call, peerOf(request.socket)) : undefined
    if (refusal !== undefined) return refusal
    if (!hasAuthority(request)) return malformed('the request names no host')
    call.lease = connection.admit(call.caller !== undefined)
    return call.lease === undefined ? tooManyCalls() : undefined
  }

  return {
    /**
     * Returns undefined when it refused the request and answered it. The caller releases the lease of an admitted call.
     */
    admit(request: AnyRequest, response: AnyResponse): ServedCall | undefined {
      const verdict = admit(request.url ?? '', request.headers)
      const { call } = verdict
      const connection = connectionOf(connections, request)
      const refusal = verdict.refusal ?? refusalOf(request, call, connection)
      if (refusal !== undefined) {
        if (!('stream' in request)) dropper.drop(request, call)
        refuse(request, response, callLog.failed(call, refusal))
        if ('stream' in request) resetUnread(request.stream)
        return undefined
      }
      call.connection = connection
      calls.set(request, call)
      return call
    },
    contextValues(request: AnyRequest) {
      return createContextValues().set(servedCallKey, calls.get(request))
    },
  }
}

function connectionOf(connections: Connections, request: AnyRequest): Connection {
  const { socket } = request
  const carrier = ('stream' in request ? request.stream.session : undefined) ?? socket
  return connections.of(carrier, () => socket.remoteAddress)
}

// Checked because Connect builds a URL from the host and would throw outside of any handler.
function hasAuthority(request: AnyRequest): boolean {
  const authority = 'authority' in request ? request.authority : request.headers.host
  if (authority === undefined) return false
  if (authority !== goodAuthority && URL.canParse(`http://${authority}`)) goodAuthority = authority
  return authority === goodAuthority
}

// The last good host: callers use the same one call after call, so most checks are one comparison.
let goodAuthority = ''
