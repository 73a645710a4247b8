// Applies our limits and error reasons to the handlers that Connect makes.

import type { ConnectError } from '@connectrpc/connect'
import type {
  UniversalHandler,
  UniversalServerRequest,
  UniversalServerResponse,
} from '@connectrpc/connect/protocol'
import { judged, ofDecoding, unaryError } from '../error-responses.ts'
import { malformed, withReason } from '../errors.ts'
import { type ReadLimits, wholeBody, wholeMessages } from '../limits/request-body.ts'
import { type CallLog, type ServedCall, servedCallKey } from './served-call.ts'

/** Maximum time to read a single message of a call without a deadline. */
const readTimeoutMs = 30_000

/**
 * Wraps a handler so that it reads each message within what its call may hold, and all its errors have a reason and are
 * logged. Rejects with an Error for a call that did not pass admission, which is a bug.
 */
export function limited(handler: UniversalHandler, callLog: CallLog): UniversalHandler {
  const isUnary = handler.method.methodKind === 'unary'
  const answer = async (request: UniversalServerRequest): Promise<UniversalServerResponse> => {
    const call = request.contextValues?.get(servedCallKey)
    if (call?.lease === undefined) throw new Error('call was not admitted')
    if (request.method === 'GET' && !isUtf8Query(request.url)) {
      return unaryError(callLog.failed(call, malformed('the query is not UTF-8')))
    }
    const limits: ReadLimits = {
      lease: call.lease,
      maxBytes: call.rpc.maxMessageBytes,
      isJson: isJson(request.header),
      untilMs: call.deadline ?? Date.now() + readTimeoutMs,
      toError: (thrown) => callLog.failed(call, thrown),
    }
    const body = readWithin(limits, request, isUnary, call.rpc.takesOneMessage)
    const response = await handler({ ...request, body })
    return await judged(response, isUnary, (error) => judge(error, call, callLog))
  }
  return Object.assign(answer, { ...handler })
}

/** Maps an error in a response. If no handler has answered the call, the error comes from decoding its bytes. */
function judge(error: ConnectError, call: ServedCall, callLog: CallLog): ConnectError {
  return call.isEnded ? withReason(error) : callLog.failed(call, ofDecoding(error))
}

function readWithin(
  limits: ReadLimits,
  { header, body }: UniversalServerRequest,
  isUnary: boolean,
  takesOneMessage: boolean,
): AsyncIterable<Uint8Array> {
  // Only a framework that parses JSON by itself passes anything else.
  const source = body as AsyncIterable<Uint8Array>
  const isGrpc = header.get('content-type')?.startsWith('application/grpc') ?? false
  if (!isUnary || isGrpc) return wholeMessages(source, limits, takesOneMessage)
  const declared = header.get('content-length')
  // Removed, because Connect would allocate the declared bytes before the first one arrives.
  header.delete('content-length')
  return wholeBody(source, limits, declared === null ? undefined : Number(declared))
}

function isJson(header: Headers): boolean {
  return header.get('content-type')?.includes('json') ?? false
}

/** Whether the message in a URL is UTF-8: a decoder would silently replace other bytes by U+FFFD. */
function isUtf8Query(url: string): boolean {
  try {
    decodeURIComponent(new URL(url).search)
    return true
  } catch {
    return false
  }
}
