// Registers the handlers of RPCs. Each call passes here on its way to its handler, over each protocol: checks of messages
// belong here.

import type { DescMethod, DescMethodUnary, Message } from '@bufbuild/protobuf'
import type { ConnectRouter, HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { bindToProject } from '../auth/project.ts'
import { rulesCheck } from '../validation/request-rules.ts'

type Handler = (input: Message | AsyncIterable<Message>, context: HandlerContext) => unknown

/** A unary method and what answers it. */
export type Unary = {
  method: DescMethodUnary
  answer: (message: Message, context: HandlerContext) => unknown
}

/** The unary methods of the services that were registered, by path. */
export type UnaryMethods = Map<string, Unary>

/** Throws what a message is refused with, before its handler sees it. */
type Check = (message: Message) => void

/** What each message of a method has to pass, in this order. */
function checksOf(method: DescMethod): Check[] {
  const rules = rulesCheck(method)
  const bind = bindToProject(method)
  // A project that the message need not name is in it before the rules ask for it.
  return bind === undefined ? [rules] : [bind, rules]
}

/**
 * A router whose handlers run after the checks of their method. It also notes the unary methods of its services. Options of a
 * service are known to Connect alone, so its methods are registered only when these are said to be for its streams.
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
