// When a call is retried and after what time, in the terms of a gRPC service config.
import type { DescMethod } from '@bufbuild/protobuf'
import { MethodOptions_IdempotencyLevel as Level } from '@bufbuild/protobuf/wkt'
import { type PayweaveError, Status } from './error.ts'

/** Like `retryPolicy` of a gRPC service config. */
export interface RetryPolicy {
  /** The first attempt included. */
  maxAttempts: number
  /** Maximum wait before the second attempt; the wait itself is a random part of it. */
  initialBackoffMs: number
  maxBackoffMs: number
  backoffMultiplier: number
}

export const defaultRetryPolicy: RetryPolicy = {
  maxAttempts: 4,
  initialBackoffMs: 100,
  maxBackoffMs: 2_000,
  backoffMultiplier: 2,
}

/**
 * Whether the contract allows a call to be retried: its method is idempotent, and the caller streams nothing, which
 * could not be sent again.
 */
export function isRepeatable({ idempotency, methodKind }: DescMethod): boolean {
  const isStreamed = methodKind === 'client_streaming' || methodKind === 'bidi_streaming'
  return !isStreamed && idempotency !== Level.IDEMPOTENCY_UNKNOWN
}

/** Whether the failure is transient: a retry of the same call may succeed. */
export function isPassing({ code, retryDelayMs }: PayweaveError): boolean {
  if (code === Status.UNAVAILABLE) return true
  // Without RetryInfo the message is too large, which no retry changes.
  return code === Status.RESOURCE_EXHAUSTED && retryDelayMs !== undefined
}

/**
 * Milliseconds to wait after the given attempt, counted from 1: what the service asked for, plus a random part of the
 * back-off.
 */
export function backoffMs(
  policy: RetryPolicy,
  attempt: number,
  askedMs = 0,
  random: () => number = Math.random,
): number {
  const { initialBackoffMs, maxBackoffMs, backoffMultiplier } = policy
  const ceilingMs = Math.min(initialBackoffMs * backoffMultiplier ** (attempt - 1), maxBackoffMs)
  return askedMs + random() * ceilingMs
}

/**
 * Like `retryThrottling` of a gRPC service config: keeps retries from multiplying the load of a service that is down.
 */
export interface RetryBudget {
  /** Counts a success, which earns a tenth of a retry. */
  succeeded(): void
  /** Counts a transient failure; returns whether another attempt may follow. */
  failed(): boolean
}

const maxTokens = 100
const tokenRatio = 0.1

/** Makes a budget: retries are allowed until half of it is spent; ten successes earn one retry back. */
export function createRetryBudget(): RetryBudget {
  let tokens = maxTokens
  return {
    succeeded() {
      tokens = Math.min(maxTokens, tokens + tokenRatio)
    },
    failed() {
      tokens = Math.max(0, tokens - 1)
      return tokens > maxTokens / 2
    },
  }
}
