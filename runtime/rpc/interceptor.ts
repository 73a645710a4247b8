// Runs a handler inside the context of its call, until its deadline, and maps what it throws; it must not know HTTP.

import { Code, ConnectError, type Interceptor } from '@connectrpc/connect'
import type { CallLog } from './call-log.ts'
import { iterateWithContext, runWithContext } from './context.ts'
import { type ServedCall, servedCallKey } from './served-call.ts'

type Next = Parameters<Interceptor>[0]
type Request = Parameters<Next>[0]
type Response = Awaited<ReturnType<Next>>

/** The only interceptor of a server. A call that admission did not let in does not pass it. */
export function callInterceptor(log: CallLog): Interceptor {
  return (next) => async (request) => {
    const call = request.contextValues.get(servedCallKey)
    if (call === undefined) throw new ConnectError('call was not admitted', Code.Unauthenticated)
    if (!request.stream) return await answerWithin(call, request.signal, log, () => next(request))
    call.begin(request.signal)
    return await runWithContext(call, () => serve(next, request, call, log))
  }
}

/** Runs a unary handler within its call, until the signal says that nobody waits; writes down how it ended. */
export async function answerWithin<T>(
  call: ServedCall,
  signal: AbortSignal,
  log: CallLog,
  handle: () => Promise<T>,
): Promise<T> {
  call.begin(signal)
  try {
    const answer = await untilAbort(runWithContext(call, handle), signal)
    log.answered(call)
    return answer
  } catch (thrown) {
    throw log.failed(call, thrown)
  }
}

async function serve(
  next: Next,
  request: Request,
  call: ServedCall,
  log: CallLog,
): Promise<Response> {
  try {
    const response = await untilAbort(next(request), request.signal)
    if (!response.stream) throw new Error('a stream was answered by a single message')
    return { ...response, message: serveStream(response.message, call, log) }
  } catch (thrown) {
    throw log.failed(call, thrown)
  }
}

async function* serveStream<T>(source: AsyncIterable<T>, call: ServedCall, log: CallLog) {
  try {
    yield* iterateWithContext(call, source)
  } catch (thrown) {
    throw log.failed(call, thrown)
  } finally {
    // Also when the caller stopped reading. A call that failed is not written down twice.
    log.answered(call)
  }
}

/**
 * Connect only signals a deadline; a handler that does not look would keep its caller waiting. The work
 * goes on unheard: its outcome is what a time-out means, unknown.
 */
async function untilAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
