// Admits or answers a request of either version of HTTP before Connect sees it.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { createContextValues } from '@connectrpc/connect'
import { peerRefusal } from '../auth/peer.ts'
import { peerOf } from '../auth/tls.ts'
import { malformed } from '../errors.ts'
import { tooManyCalls } from '../limits/limits.ts'
import { type Dropper, resetUnread } from '../limits/unread.ts'
import type { Admit } from './admission.ts'
import type { CallLog } from './call-log.ts'
import type { Connection, Connections } from './connection.ts'
import { refuse } from './refusal.ts'
import { type ServedCall, servedCallKey } from './served-call.ts'

type AnyRequest = IncomingMessage | Http2ServerRequest
type AnyResponse = ServerResponse | Http2ServerResponse

/** What stands before Connect. */
export type Edge = ReturnType<typeof createEdge>

/** Makes it; on a guarded port calls are held against the certificate of their connection. */
export function createEdge(
  admit: Admit,
  callLog: CallLog,
  connections: Connections,
  dropper: Dropper,
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
    /** Undefined when the request was answered here. What the call holds is released when its response closes. */
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

// Connect builds a URL from it and throws, outside any handler, when that cannot be done.
function hasAuthority(request: AnyRequest): boolean {
  const authority = 'authority' in request ? request.authority : request.headers.host
  if (authority === undefined) return false
  if (authority !== goodAuthority && URL.canParse(`http://${authority}`)) goodAuthority = authority
  return authority === goodAuthority
}

// Callers name us alike, call after call.
let goodAuthority = ''
