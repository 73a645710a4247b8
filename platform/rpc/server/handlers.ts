// Registers the handlers of RPCs. Calls over every protocol pass here before their handlers, so checks of messages belong here.

import { setTimeout as delay } from 'node:timers/promises'
import type { DescMethod, DescMethodUnary, Message } from '@bufbuild/protobuf'
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type HandlerContext,
  type Interceptor,
  type ServiceImpl,
} from '@connectrpc/connect'
import { bindToProject } from '../auth/callers.ts'
import { iterateWithContext, runWithContext } from '../context.ts'
import { ofDecoding } from '../error-responses.ts'
import { oldName } from '../old-names.ts'
import { idLowering } from '../validation/request-ids.ts'
import { rulesCheck } from '../validation/request-rules.ts'
import { type CallLog, type ServedCall, servedCallKey } from './served-call.ts'

type Handler = (input: Message | AsyncIterable<Message>, context: HandlerContext) => unknown

/** A unary method and what answers it. */
export type Unary = {
  method: DescMethodUnary
  /** Checks the message and runs the handler. Throws, or rejects with, what the checks and the handler throw. */
  answer: (message: Message, context: HandlerContext) => unknown
}

/** The unary methods of the services that were registered, by path, also the old one. */
export type UnaryMethods = Map<string, Unary>

/** Throws the Failure that a message is refused with, before its handler sees it; some complete the message. */
type Check = (message: Message) => void

/** What each message of a method has to pass, in this order. */
function checksOf(method: DescMethod): Check[] {
  const rules = rulesCheck(method)
  // Before the rules, since it fills in a project that they then require; it compares ids in lower case.
  const before = [idLowering(method.input), bindToProject(method)]
  return [...before.filter((check) => check !== undefined), rules]
}

/**
 * Makes a router whose handlers run after the checks of their method: a message is refused with INVALID_PARAMETER,
 * MISSING_PARAMETER or, for a bearer of another project, PERMISSION_DENIED. It also adds the unary methods to `methods`, whose
 * calls do not go through Connect. Only Connect applies the options of a service, so the methods of a service with options are added
 * only if the options are for its streams. Throws at registration when a rule of a contract does not compile.
 */
export function registering(
  router: ConnectRouter,
  methods: UnaryMethods,
  optionsAreForStreams = false,
): ConnectRouter {
  const registered: ConnectRouter = {
    ...router,
    service(service, implementation, options) {
      const handlers: Record<string, Handler> = {}
      for (const method of service.methods) {
        const given = (implementation as Record<string, unknown>)[method.localName]
        if (typeof given !== 'function') continue
        const handler = checked(method, given.bind(implementation) as Handler)
        handlers[method.localName] = handler
        if (method.methodKind !== 'unary') continue
        if (options !== undefined && !optionsAreForStreams) continue
        const path = `/${service.typeName}/${method.name}`
        const unary = { method: method as DescMethodUnary, answer: handler }
        methods.set(path, unary)
        methods.set(oldName(path), unary)
      }
      router.service(service, handlers as Partial<ServiceImpl<typeof service>>, options)
      return registered
    },
  }
  return registered
}

function checked(method: DescMethod, handler: Handler): Handler {
  const checks = checksOf(method)
  const check = (message: Message) => {
    for (const passes of checks) passes(message)
  }
  if (method.methodKind === 'unary' || method.methodKind === 'server_streaming') {
    return (message, context) => {
      check(message as Message)
      return handler(message, context)
    }
  }
  return (messages, context) =>
    handler(eachChecked(messages as AsyncIterable<Message>, check), context)
}

async function* eachChecked(messages: AsyncIterable<Message>, check: Check) {
  for await (const message of messages) {
    check(message)
    yield message
  }
}

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
    // A single message needs no check: its declared length shows whether it is whole.
    const isSingle = request.method.methodKind === 'server_streaming'
    const decoded = mapDecodingErrors(request.message)
    const message = isSingle ? decoded : untilComplete(decoded, call, request.signal)
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
  log.began()
  try {
    const work = runWithContext(call, handle)
    const answer = await (waiting.onAbort === undefined
      ? untilAbort(work, waiting.signal)
      : untilOnAbort(work, waiting))
    log.answered(call)
    return answer
  } catch (thrown) {
    throw log.failed(call, thrown)
  } finally {
    log.ended()
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
    return { ...response, message: serveStream(response.message, call, log, request.signal) }
  } catch (thrown) {
    throw log.failed(call, thrown)
  }
}

async function* serveStream<T>(
  source: AsyncIterable<T>,
  call: ServedCall,
  log: CallLog,
  signal: AbortSignal,
) {
  try {
    yield* iterateWithContext(call, source)
    // A handler that checks its signal ends without an error.
    if (signal.aborted && isDeadline(signal.reason)) throw signal.reason
  } catch (thrown) {
    throw log.failed(call, thrown)
  } finally {
    // Runs also when the caller stopped reading. A call that has failed is logged already, and is not logged again.
    log.answered(call)
  }
}

function isDeadline(reason: unknown): boolean {
  return reason instanceof ConnectError && reason.code === Code.DeadlineExceeded
}

/** Passes on the messages that Connect decodes, and maps errors of decoding to errors of the caller. */
async function* mapDecodingErrors<T>(source: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* source
  } catch (error) {
    throw error instanceof ConnectError ? ofDecoding(error) : error
  }
}

/**
 * Passes messages on and waits a moment at the end. Over HTTP/2 a body that breaks off ends like any other, and a
 * Node.js client that cancels sends the end of the stream just before the reset: without the wait, a partial upload
 * would look complete.
 */
async function* untilComplete<T>(
  source: AsyncIterable<T>,
  { stream }: ServedCall,
  signal: AbortSignal,
): AsyncGenerator<T> {
  yield* source
  if (stream === undefined) return
  await delay(resetGraceMs)
  if (stream.aborted || signal.aborted) {
    throw new ConnectError('the caller broke off', Code.Canceled)
  }
}

const resetGraceMs = 20

function untilOnAbort<T>(work: Promise<T>, waiting: Waiting): Promise<T> {
  return new Promise((resolve, reject) => {
    waiting.onAbort = reject
    work.then(resolve, reject)
  })
}

/**
 * Rejects when the signal aborts. Connect only signals a deadline: a handler that does not check the signal would keep its caller
 * waiting. The handler continues, and its result is dropped; as after any time-out, its outcome is unknown to the caller.
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
