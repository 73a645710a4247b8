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

/** The only interceptor of a server. A call that admission did not let in does not pass it. */
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
  onAbort?: (reason: ConnectError) => void
}

/** Runs a unary handler within its call, until that is cancelled; logs how it ended. */
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
    // Also when the caller stopped reading. A call that failed is not written down twice.
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
 * Over HTTP/2 a body that breaks off ends like any other, and a client of Node that cancels even says that it has ended before
 * it says that it was cancelled, in the same breath. So the second word is waited for.
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
