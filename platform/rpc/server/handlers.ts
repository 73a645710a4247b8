// Registers the handlers of RPCs. Each call passes here on its way to its handler, over each protocol: checks of
// messages belong here.

import type { DescMethod, DescMethodUnary, Message } from '@bufbuild/protobuf'
import type { ConnectRouter, HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { bindToProject } from '../auth/project.ts'
import { rulesCheck } from '../validation/request-rules.ts'

type Handler = (input: Message | AsyncIterable<Message>, context: HandlerContext) => unknown

/** A unary method and what answers it. */
export type Unary = {
  method: DescMethodUnary
  /** Checks the message and runs the handler. Throws, or rejects with, what the checks and the handler throw. */
  answer: (message: Message, context: HandlerContext) => unknown
}

/** The unary methods of the services that were registered, by path. */
export type UnaryMethods = Map<string, Unary>

/** Throws the Failure that a message is refused with, before its handler sees it. */
type Check = (message: Message) => void

/** What each message of a method has to pass, in this order. */
function checksOf(method: DescMethod): Check[] {
  const rules = rulesCheck(method)
  const bind = bindToProject(method)
  // First, because it fills in a project that the rules then require.
  return bind === undefined ? [rules] : [bind, rules]
}

/**
 * Makes a router whose handlers run after the checks of their method: a message is refused with INVALID_PARAMETER,
 * MISSING_PARAMETER or, for a bearer of another project, PERMISSION_DENIED. It also notes the unary methods. Connect
 * alone knows the options of a service, so a service with options is noted only when these are for its streams. Throws
 * at registration when a rule of a contract does not compile.
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
        methods.set(path, { method: method as DescMethodUnary, answer: handler })
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
