// Decides from the headers alone whether a call is admitted, and its deadline.

import type { IncomingHttpHeaders } from 'node:http'
import type { UniversalHandler } from '@connectrpc/connect/protocol'
import { Failure } from '#core/errors/errors.ts'
import { isUuid, randomId } from '#core/identity/id.ts'
import { CallService } from '#gen/payweave/rpc/v1/call_pb.js'
import { rpcServerSpan } from '#platform/telemetry/spans.ts'
import { permissionOf } from '../auth/callers.ts'
import type { Identity } from '../auth/identity.ts'
import { requestIdHeader } from '../call-stream/messages.ts'
import type { Caller } from '../context.ts'
import {
  maxMessageBytes,
  maxNameMessageBytes,
  maxStreamMs,
  maxTimeoutMs,
  messageTooLarge,
} from '../limits/limits.ts'
import { type Rpc, ServedCall } from './served-call.ts'

const defaultTimeoutMs = 10_000

const envelopeHeadBytes = 5

const healthService = 'grpc.health.v1.Health'
const reflectionService = /^grpc\.reflection\.v1(alpha)?\.ServerReflection$/

const unknownRpc: Rpc = {
  name: 'unknown',
  open: false,
  permits: () => true,
  maxMessageBytes,
  takesOneMessage: false,
  defaultTimeoutMs,
  maxTimeoutMs,
}

/** A call that may go on to its handler, or why it may not. */
export type Verdict =
  | { call: ServedCall; refusal?: undefined }
  | { call: ServedCall; refusal: Failure }

/**
 * Reads path and headers of a request. Sets the time-out header, so that Connect keeps the same deadline. Never throws:
 * a refused call has UNAUTHENTICATED, METHOD_UNIMPLEMENTED, PERMISSION_DENIED, COMPRESSION_UNSUPPORTED,
 * MESSAGE_TOO_LARGE, or TIMEOUT when its token expired while it waited.
 */
export type Admit = (path: string, headers: IncomingHttpHeaders) => Verdict

/** Makes the admission of a server. Looks every method up once, so that a call costs two look-ups. */
export function createAdmission(handlers: readonly UniversalHandler[], identity: Identity): Admit {
  const rpcs = new Map(handlers.map((handler) => [handler.requestPath, describe(handler)]))
  return (path, headers) => {
    const query = path.indexOf('?')
    const rpc = rpcs.get(query < 0 ? path : path.slice(0, query)) ?? unknownRpc
    // Recognised also where no credential is needed, since authenticated callers have higher limits.
    const caller = identity.recognise(headers.authorization)
    const requestId = headers[requestIdHeader]
    const call = new ServedCall(
      rpc,
      typeof requestId === 'string' && isUuid(requestId) ? requestId : randomId(),
      headers['traceparent'] as string | undefined,
      applyDeadline(rpc, headers, caller),
      caller,
      rpcServerSpan(rpc.name, headers),
    )
    const refusal = refusalOf(rpc, call, headers, identity)
    return refusal === undefined ? { call } : { call, refusal }
  }
}

function refusalOf(
  rpc: Rpc,
  { caller }: ServedCall,
  headers: IncomingHttpHeaders,
  identity: Identity,
): Failure | undefined {
  if (!rpc.open) {
    if (caller === undefined) return noCaller(headers, identity)
    if (rpc === unknownRpc) return new Failure('METHOD_UNIMPLEMENTED', 'unknown method')
    if (!rpc.permits(caller)) {
      return new Failure('PERMISSION_DENIED', 'this caller may not call this method')
    }
  }
  if (isCompressed(headers)) {
    return new Failure('COMPRESSION_UNSUPPORTED', 'messages must not be compressed')
  }
  const { takesOneMessage, maxMessageBytes: maxBytes } = rpc
  const declaredBytes = Number(headers['content-length'] ?? 0)
  if (takesOneMessage && declaredBytes > maxBytes + envelopeHeadBytes) {
    return messageTooLarge(maxBytes)
  }
  return undefined
}

/**
 * The refusal of a call without a valid credential. A token outlives its call's deadline, so an expired one means a
 * late call.
 */
function noCaller({ authorization }: IncomingHttpHeaders, identity: Identity): Failure {
  return identity.hasExpired(authorization)
    ? new Failure('TIMEOUT', 'the call waited until after its deadline')
    : new Failure('UNAUTHENTICATED', 'no valid credential')
}

const encodingHeaders = ['content-encoding', 'connect-content-encoding', 'grpc-encoding'] as const

function isCompressed(headers: IncomingHttpHeaders): boolean {
  for (const name of encodingHeaders) {
    if (headers[name] !== undefined && headers[name] !== 'identity') return true
  }
  return false
}

function describe({ service, method }: UniversalHandler): Rpc {
  const stream = method.methodKind === 'server_streaming'
  const watch = stream && service.typeName === healthService
  const isReflection = reflectionService.test(service.typeName)
  const open = service.typeName === healthService
  const isEndless = watch || service.typeName === CallService.typeName
  return {
    name: `${service.typeName}/${method.name}`,
    open,
    permits: permissionOf(method),
    maxMessageBytes: open || isReflection ? maxNameMessageBytes : maxMessageBytes,
    takesOneMessage: stream || method.methodKind === 'unary',
    defaultTimeoutMs: isEndless
      ? undefined
      : stream || isReflection
        ? maxTimeoutMs
        : defaultTimeoutMs,
    maxTimeoutMs: stream || isEndless ? maxStreamMs : open ? defaultTimeoutMs : maxTimeoutMs,
  }
}

const unitsMs: Record<string, number> = {
  n: 1e-6,
  u: 1e-3,
  m: 1,
  S: 1_000,
  M: 60_000,
  H: 3_600_000,
}
const grpcTimeout = /^(\d{1,8})([numSMH])$/
const connectTimeout = /^\d{1,10}$/

/**
 * The deadline of the call, and the time-out header set to it. No call outlives the bearer that it was made with, also where calls
 * need no deadline. A malformed header is left alone: Connect refuses the call for it.
 */
function applyDeadline(
  rpc: Rpc,
  headers: IncomingHttpHeaders,
  caller: Caller | undefined,
): number | undefined {
  const grpc = headers['content-type']?.startsWith('application/grpc') ?? false
  const name = grpc ? 'grpc-timeout' : 'connect-timeout-ms'
  const sent = headers[name]
  const readMs = sent === undefined ? rpc.defaultTimeoutMs : readTimeout(String(sent), grpc)
  const expiresMs = caller?.expiresMs
  const isEndless = rpc.defaultTimeoutMs === undefined
  const requestedMs =
    readMs ?? (isEndless && expiresMs !== undefined ? rpc.maxTimeoutMs : undefined)
  if (requestedMs === undefined) return undefined
  const leftMs = expiresMs === undefined ? rpc.maxTimeoutMs : expiresMs - Date.now()
  const timeoutMs = Math.min(Math.ceil(requestedMs), rpc.maxTimeoutMs, Math.max(leftMs, 1))
  if (sent === undefined || (readMs !== undefined && timeoutMs < readMs))
    headers[name] = `${timeoutMs}${grpc ? 'm' : ''}`
  return Date.now() + timeoutMs
}

function readTimeout(text: string, grpc: boolean): number | undefined {
  if (!grpc) return connectTimeout.test(text) ? Number(text) : undefined
  const match = grpcTimeout.exec(text)
  return match === null ? undefined : Number(match[1]) * (unitsMs[match[2] ?? ''] ?? 0)
}
