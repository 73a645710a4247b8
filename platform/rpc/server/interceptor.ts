// Runs a handler inside the context of its call, until its deadline, and maps what it throws.

import { setTimeout as delay } from 'node:timers/promises'
import { Code, ConnectError, type Interceptor } from '@connectrpc/connect'
import { iterateWithContext, runWithContext } from '../context.ts'
import { ofDecoding } from '../error-responses.ts'
import type { CallLog } from './call-log.ts'
import { type ServedCall, servedCallKey } from './served-call.ts'

type Next = Parameters<Interceptor>[0]
type Request = Parameters<Next>[0]
type Response = Awaited<ReturnType<Next>>

/**
 * The only interceptor of a server. Rejects with a ConnectError: UNAUTHENTICATED for a call that did not pass
 * admission, else what `CallLog.failed` makes of the handler's error.
 */
export function callInterceptor(log: CallLog): Interceptor {
  return (next) => async (request) => {
    const call = request.contextValues.get(servedCallKey)
    if (call === undefined) throw new ConnectError('call was not admitted', Code.Unauthenticated)
    if (!request.stream) return await answerWithin(call, request, log, () => next(request))
    call.begin(request)
    // A single message is whole or refused by its length.
    const isSingle = request.method.methodKind === 'server_streaming'
    const decoded = decodable(request.message)
    const message = isSingle ? decoded : whole(decoded, call, request.signal)
    return await runWithContext(call, () => serve(next, { ...request, message }, call, log))
  }
}

/** The cancellation of a call: a signal, or a cheaper callback where no signal is needed. */
export interface Waiting {
  readonly signal: AbortSignal
  /** Where it is present, `answerWithin` replaces it and needs no signal. */
  onAbort?: (reason: ConnectError) => void
}

/**
 * Runs a unary handler in the context of its call, until that is cancelled, and logs how it ended. Rejects with the
 * ConnectError that the caller is to see. A cancelled handler runs on; its result is dropped.
 */
export async function answerWithin<T>(
  call: ServedCall,
  waiting: Waiting,
  log: CallLog,
  handle: () => Promise<T>,
): Promise<T> {
  call.begin(waiting)
  try {
    const work = runWithContext(call, handle)
    const answer = await (waiting.onAbort === undefined
      ? untilAbort(work, waiting.signal)
      : untilCalledBack(work, waiting))
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
    // Also when the caller stopped reading. A call that has failed is noted already and not noted again.
    log.answered(call)
  }
}

/** Messages as Connect decodes them, with errors of decoding as what they are: the caller's. */
async function* decodable<T>(source: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* source
  } catch (error) {
    throw error instanceof ConnectError ? ofDecoding(error) : error
  }
}

/**
 * Passes messages on and waits a moment at the end. Over HTTP/2 a body that breaks off ends like any other, and a Node.js client
 * that cancels sends the end of the stream just before the reset: without the wait, a partial upload would look complete.
 */
async function* whole<T>(
  source: AsyncIterable<T>,
  { stream }: ServedCall,
  signal: AbortSignal,
): AsyncGenerator<T> {
  yield* source
  if (stream === undefined) return
  await delay(secondWordMs)
  if (stream.aborted || signal.aborted) {
    throw new ConnectError('the caller broke off', Code.Canceled)
  }
}

const secondWordMs = 20

function untilCalledBack<T>(work: Promise<T>, waiting: Waiting): Promise<T> {
  return new Promise((resolve, reject) => {
    waiting.onAbort = reject
    work.then(resolve, reject)
  })
}

/**
 * Connect only signals a deadline; a handler that does not look would keep its caller waiting. The work
 * continues without a reader: as after a time-out, its outcome is unknown.
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
