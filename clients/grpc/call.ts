// One call with its attempts: headers, deadline, cancellation, retries and errors.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DescMethod } from '@bufbuild/protobuf'
import { Metadata, type ServiceError } from '@grpc/grpc-js'
import type { Credential } from './credential.ts'
import { PayweaveError, readServiceError, Status } from './error.ts'
import {
  backoffMs,
  defaultRetryPolicy,
  isPassing,
  isRepeatable,
  type RetryBudget,
  type RetryPolicy,
} from './retry.ts'
import type { CallOptions } from './service-client.ts'

/** What all calls of a client have in common. */
export interface CallDefaults {
  credential: Credential
  budget: RetryBudget
  /** Whether the client was closed: a call then fails with CANCELLED. */
  isClosed: () => boolean
  timeoutMs: number
  retry: Partial<RetryPolicy> | false
  /** The W3C trace of the current work. */
  traceparent: () => string | undefined
  /** The request id (UUID) of the current work; a new one where it returns none. */
  requestId: () => string | undefined
}

/** A call under way. */
export interface Call {
  readonly path: string
  readonly deadline: number
  readonly signal: AbortSignal | undefined
  /**
   * Headers of the next attempt. Rejects with CANCELLED when the signal has aborted or the client is closed, and with
   * the system's error when the bearer's file cannot be read.
   */
  begin(): Promise<Metadata>
  /**
   * Converts an error of grpc-js; one that our own signal caused becomes CANCELLED with the signal's reason as its
   * cause.
   */
  errorOf(error: ServiceError): PayweaveError
  /**
   * Makes attempts until one succeeds or no other is allowed: the contract, the policy, the budget and the deadline
   * decide. Rejects with the error of the last attempt.
   */
  repeat<T>(attempt: () => Promise<T>): Promise<T>
}

/**
 * Starts the clock of a call, whose methods reject as `Call` says. Streams of answers have no deadline unless the
 * caller sets one.
 */
export function openCall(method: DescMethod, options: CallOptions, defaults: CallDefaults): Call {
  const name = `${method.parent.typeName}/${method.name}`
  const requestId = options.requestId ?? defaults.requestId() ?? randomUUID()
  const traceparent = options.traceparent ?? defaults.traceparent()
  // A stream of answers lasts as long as the service allows, unless the caller sets a time-out.
  const isLasting =
    method.methodKind === 'server_streaming' || method.methodKind === 'bidi_streaming'
  const timeoutMs = options.timeoutMs ?? (isLasting ? Number.POSITIVE_INFINITY : defaults.timeoutMs)
  const deadline = Date.now() + timeoutMs
  const { signal } = options
  const policy = isRepeatable(method) ? policyOf(defaults.retry, options.retry) : undefined

  function fail(code: Status, details: string, cause?: unknown): PayweaveError {
    return new PayweaveError({ code, details }, { method: name, requestId }, cause)
  }

  function refuseEnded(): void {
    if (signal?.aborted === true)
      throw fail(Status.CANCELLED, 'the caller has cancelled', signal.reason)
    if (defaults.isClosed()) throw fail(Status.CANCELLED, 'the client is closed')
  }

  async function begin(): Promise<Metadata> {
    refuseEnded()
    const authorization = await defaults.credential()
    refuseEnded()
    const metadata = new Metadata()
    for (const [key, value] of Object.entries(options.metadata ?? {})) metadata.set(key, value)
    if (authorization !== undefined) metadata.set('authorization', authorization)
    if (traceparent !== undefined) metadata.set('traceparent', traceparent)
    metadata.set('pw-request-id', requestId)
    return metadata
  }

  /** The wait before another attempt; undefined when there is none. */
  function waitAfter(error: unknown, attempt: number): number | undefined {
    if (policy === undefined || !(error instanceof PayweaveError) || !isPassing(error))
      return undefined
    const isAllowed = defaults.budget.failed()
    if (!isAllowed || attempt >= policy.maxAttempts || defaults.isClosed()) return undefined
    const waitMs = backoffMs(policy, attempt, error.retryDelayMs)
    return Date.now() + waitMs < deadline ? waitMs : undefined
  }

  async function repeat<T>(attempt: () => Promise<T>): Promise<T> {
    for (let count = 1; ; count += 1) {
      try {
        const answer = await attempt()
        defaults.budget.succeeded()
        return answer
      } catch (error) {
        const waitMs = waitAfter(error, count)
        if (waitMs === undefined) throw error
        // An abort ends the wait; the next attempt then rejects with CANCELLED.
        await sleep(waitMs, undefined, signal === undefined ? {} : { signal }).catch(
          () => undefined,
        )
      }
    }
  }

  return {
    path: `/${name}`,
    deadline,
    signal,
    begin,
    repeat,
    errorOf(error) {
      if (error.code === Status.CANCELLED && signal?.aborted === true) {
        return fail(Status.CANCELLED, 'the caller has cancelled', signal.reason)
      }
      return new PayweaveError(readServiceError(error), { method: name, requestId }, error)
    },
  }
}

function policyOf(
  general: Partial<RetryPolicy> | false,
  own: CallOptions['retry'],
): RetryPolicy | undefined {
  if (own === false || (own === undefined && general === false)) return undefined
  return { ...defaultRetryPolicy, ...(general === false ? {} : general), ...own }
}
