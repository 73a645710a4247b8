// Adds the reason that all errors of a server have to the errors that Connect writes by itself.

import { Code, ConnectError } from '@connectrpc/connect'
import type { UniversalServerResponse } from '@connectrpc/connect/protocol'
import {
  codeToHttpStatus,
  contentTypeUnaryJson,
  endStreamFlag,
  endStreamFromJson,
  endStreamToJson,
  errorFromJsonBytes,
  errorToJsonBytes,
} from '@connectrpc/connect/protocol-connect'
import { findTrailerError, setTrailerStatus } from '@connectrpc/connect/protocol-grpc'
import { trailerFlag, trailerParse, trailerSerialize } from '@connectrpc/connect/protocol-grpc-web'
import { Failure, type Reason } from '#core/errors/errors.ts'
import { hasReason, malformed, retryAfterOf, toConnectError, withReason } from './errors.ts'

const envelopeHeadBytes = 5

/** Maps an error to the one that its caller sees. */
export type Judge = (error: ConnectError) => ConnectError

/** Statuses that Connect answers with no body. */
const bareReasons: Record<number, [Reason, string]> = {
  405: ['METHOD_NOT_ALLOWED', 'the method does not take this HTTP method'],
  415: ['UNSUPPORTED_MEDIA_TYPE', 'the content type is none of gRPC or Connect for this method'],
  505: ['METHOD_UNIMPLEMENTED', 'the method needs HTTP/2'],
}

/**
 * Maps an error that Connect made before any handler ran: an internal one is a message that cannot be decoded, which is
 * the caller's fault (MALFORMED_REQUEST).
 */
export function ofDecoding(error: ConnectError): ConnectError {
  if (hasReason(error)) return error
  const isInternal = error.code === Code.Internal || error.code === Code.Unknown
  return isInternal
    ? toConnectError(malformed('the message cannot be decoded', error))
    : withReason(error)
}

/**
 * Replaces each error in a response by what `judge` makes of it. Rejects with the body's error when it cannot be read
 * to its end; the body of a stream throws it when it is read.
 */
export function judged(
  response: UniversalServerResponse,
  isUnary: boolean,
  judge: Judge,
): Promise<UniversalServerResponse> | UniversalServerResponse {
  const { status, body, trailer } = response
  if (body === undefined) return status < 400 ? response : ofBareStatus(response, judge)
  if (trailer !== undefined) {
    if (isUnary) judgeTrailer(trailer, judge)
    else return { ...response, body: thenTrailer(body, trailer, judge) }
    return response
  }
  if (response.header?.get('content-type')?.startsWith('application/grpc-web') === true) {
    const end = (envelope: Uint8Array) => judgedWebTrailer(envelope, judge)
    return { ...response, body: withJudgedEnd(body, trailerFlag, end) }
  }
  if (!isUnary) {
    const end = (envelope: Uint8Array) => judgedEnd(envelope, judge)
    return { ...response, body: withJudgedEnd(body, endStreamFlag, end) }
  }
  return status === 200 ? response : ofUnary(response, body, judge)
}

function ofBareStatus(response: UniversalServerResponse, judge: Judge): UniversalServerResponse {
  const [reason, message] = bareReasons[response.status] ?? ['INTERNAL_ERROR', 'internal error']
  const error = judge(toConnectError(new Failure(reason, message)))
  return { ...response, ...jsonOf(error, response.header) }
}

/** The response to a failed unary call of Connect's protocol. */
export function unaryError(error: ConnectError): UniversalServerResponse {
  return { status: codeToHttpStatus(error.code), ...jsonOf(error, undefined) }
}

async function ofUnary(
  response: UniversalServerResponse,
  body: AsyncIterable<Uint8Array>,
  judge: Judge,
): Promise<UniversalServerResponse> {
  const bytes: Uint8Array[] = []
  for await (const piece of body) bytes.push(piece)
  const unknown = new ConnectError('internal error', Code.Internal)
  const whole = Buffer.concat(bytes)
  const found = errorFromJsonBytes(whole, undefined, unknown)
  const error = hasReason(found) ? found : judge(found)
  const status = codeToHttpStatus(error.code)
  return { ...response, status, ...jsonOf(error, response.header) }
}

function jsonOf(error: ConnectError, given: Headers | undefined) {
  const bytes = errorToJsonBytes(error, undefined)
  const header = new Headers({ ...Object.fromEntries(given ?? []), ...retryAfterOf(error) })
  header.set('content-type', contentTypeUnaryJson)
  header.set('content-length', String(bytes.byteLength))
  return { header, body: once(bytes) }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

function judgeTrailer(trailer: Headers, judge: Judge): void {
  const error = findTrailerError(trailer)
  if (error === undefined || hasReason(error)) return
  const seen = judge(error)
  // Without the metadata of the error: those are these same trailers, which would then appear twice.
  const shown = new ConnectError(seen.rawMessage, seen.code)
  shown.details = seen.details
  setTrailerStatus(trailer, shown)
}

async function* thenTrailer(
  body: AsyncIterable<Uint8Array>,
  trailer: Headers,
  judge: Judge,
): AsyncGenerator<Uint8Array> {
  yield* body
  judgeTrailer(trailer, judge)
}

/** A stream of Connect, and every body of gRPC-Web, ends with an envelope of its own, which comes as one piece. */
async function* withJudgedEnd(
  body: AsyncIterable<Uint8Array>,
  endFlag: number,
  judgeEnd: (envelope: Uint8Array) => Uint8Array,
): AsyncGenerator<Uint8Array> {
  for await (const piece of body) {
    const isEnd = ((piece[0] ?? 0) & endFlag) === endFlag
    yield isEnd ? judgeEnd(piece) : piece
  }
}

/** The trailers of gRPC-Web are the text of its last envelope. */
function judgedWebTrailer(envelope: Uint8Array, judge: Judge): Uint8Array {
  const trailer = trailerParse(envelope.subarray(envelopeHeadBytes))
  judgeTrailer(trailer, judge)
  return envelopeOf(trailerFlag, trailerSerialize(trailer))
}

function judgedEnd(envelope: Uint8Array, judge: Judge): Uint8Array {
  const { metadata, error } = endStreamFromJson(envelope.subarray(envelopeHeadBytes))
  if (error === undefined || hasReason(error)) return envelope
  const seen = judge(error)
  const shown = new ConnectError(seen.rawMessage, seen.code)
  shown.details = seen.details
  return endStreamEnvelope(shown, metadata)
}

/** The envelope that ends a stream of Connect with an error. */
export function endStreamEnvelope(error: ConnectError, metadata = new Headers()): Buffer {
  const json = Buffer.from(JSON.stringify(endStreamToJson(metadata, error, undefined)))
  return envelopeOf(endStreamFlag, json)
}

function envelopeOf(flags: number, content: Uint8Array): Buffer {
  const head = Buffer.alloc(envelopeHeadBytes)
  head.writeUInt8(flags)
  head.writeUInt32BE(content.length, 1)
  return Buffer.concat([head, content])
}
