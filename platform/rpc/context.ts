// The context of a call (caller, request id, deadline), inherited by nested calls.

import { AsyncLocalStorage } from 'node:async_hooks'
import { Failure } from '#core/errors/errors.ts'
import type { Membership } from './auth/roles.ts'

/** A person who works in the console, with the roles that they hold. */
export interface Person {
  /** Issuer and subject of the identity provider: `https://id.example.com#00u1abc`. Never logged. */
  id: string
  memberships: readonly Membership[]
}

/** Who called: a process of ours by its signed token, or an internal team by its bearer. */
export interface Caller {
  kind: 'service' | 'bearer'
  name: string
  /** The only project that the credential may act for; absent when it is for none or for all. */
  projectId?: string
  /** When the bearer expires, in milliseconds since the epoch; absent for one that does not, and for tokens. */
  expiresMs?: number
  /** The RPCs that a bearer may call: `*`, `pkg.Service/*` or `pkg.Service/Method`. */
  rpcs?: readonly string[]
  /** The person for whom the console calls; absent for all other callers. */
  person?: Person
}

/** The context that every RPC inherits which is made while a call or a request is being answered. */
export interface CallContext {
  requestId: string
  traceparent: string
  /** When the caller stops waiting, in milliseconds since the epoch. */
  deadline?: number | undefined
  /** Aborts when the caller went away or its deadline passed; never because the call was answered. */
  signal?: AbortSignal | undefined
  caller?: Caller | undefined
  /** For whom calls are made, and the only project that they may act for: the console's, never inherited by services. */
  acting?: Acting | undefined
}

/** A person at work, and the only project that their calls are for; undefined: none. */
export interface Acting {
  person: Person
  projectId: string | undefined
  /** Id of their session in the console. */
  sessionId: string
}

/** How an audit names a caller: a process or bearer by its name, a person of the console as `console:` and their id. */
export function auditName(caller: Caller | undefined): string {
  if (caller === undefined) return 'unknown'
  return caller.person === undefined ? caller.name : `${caller.name}:${caller.person.id}`
}

const storage = new AsyncLocalStorage<CallContext | undefined>()

/** The context of the call or request that the current code runs for; undefined outside of any. */
export function currentContext(): CallContext | undefined {
  return storage.getStore()
}

/** Throws TIMEOUT when the caller of the current call has stopped waiting; never outside of a call. */
export function checkDeadline(): void {
  const { deadline } = storage.getStore() ?? {}
  if (deadline !== undefined && Date.now() >= deadline) {
    throw new Failure('TIMEOUT', 'the call waited until after its deadline')
  }
}

/** The fields of the current call or request that every log line gets. */
export function loggedContext(): { requestId?: string; traceId?: string | undefined } {
  const current = currentContext()
  if (current === undefined) return {}
  return { requestId: current.requestId, traceId: current.traceparent.split('-')[1] }
}

/** Runs `work` so that calls made in it inherit `context`. Throws what `work` throws. */
export function runWithContext<T>(context: CallContext, work: () => T): T {
  return storage.run(context, work)
}

/**
 * Runs `work` outside any call. Loops that outlive the request that woke them start here, or they would inherit its
 * deadline. Throws what `work` throws.
 */
export function runDetached<T>(work: () => T): T {
  return storage.run(undefined, work)
}

/**
 * Iterates `source` with `context` active in its generator, in any context of the consumer. Throws what `source`
 * throws.
 */
export async function* iterateWithContext<T>(
  context: CallContext,
  source: AsyncIterable<T>,
): AsyncGenerator<T> {
  const iterator = storage.run(context, () => source[Symbol.asyncIterator]())
  try {
    for (;;) {
      const step = await storage.run(context, () => iterator.next())
      if (step.done === true) return
      yield step.value
    }
  } finally {
    await storage.run(context, () => iterator.return?.())
  }
}
