// Tests that every refusal survives an RPC, and what a call with unknown outcome becomes.

import { Code, ConnectError } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { Failure, type Reason, reasons } from '#core/errors/errors.ts'
import { ErrorInfoSchema, RetryInfoSchema } from '#gen/google/rpc/error_details_pb.js'
import { hasReason, statusName, toConnectError, toFailure, withReason } from './errors.ts'

/** Reasons that a server gives about a call, and what they mean to the code that made it. */
const ofCalls = {
  UNAUTHENTICATED: 'SERVICE_UNAVAILABLE',
  PERMISSION_DENIED: 'INTERNAL_ERROR',
  METHOD_UNIMPLEMENTED: 'INTERNAL_ERROR',
  RPC_SERVICE_NOT_FOUND: 'INTERNAL_ERROR',
  MALFORMED_REQUEST: 'INTERNAL_ERROR',
  COMPRESSION_UNSUPPORTED: 'INTERNAL_ERROR',
  MESSAGE_TOO_LARGE: 'INTERNAL_ERROR',
  SERVER_OVERLOADED: 'SERVICE_UNAVAILABLE',
  CANCELLED: 'TIMEOUT',
}

describe('a refusal on the wire', () => {
  const kept = (Object.keys(reasons) as Reason[]).filter(
    (reason) => !Object.hasOwn(ofCalls, reason),
  )

  it.each(kept)('a refusal on the wire keeps the reason %s', (reason) => {
    const failure = new Failure(reason, 'why', { details: { key: 'value' } })
    const error = toConnectError(failure)
    expect(statusName(error.code)).toBe(reasons[reason].rpc)
    const back = toFailure(error)
    expect(back).toMatchObject({ reason, message: 'why', details: { key: 'value' } })
    expect(back.retryAfterS).toBe(failure.retryAfterS)
  })

  it.each(Object.entries(ofCalls))(
    'a refusal on the wire about the call itself, %s, is %s to the caller',
    (given, seen) => {
      const failure = new Failure(given as Reason, 'why', { details: { key: 'value' } })
      const error = toConnectError(failure)
      expect(statusName(error.code)).toBe(reasons[failure.reason].rpc)
      expect(hasReason(error)).toBe(true)
      const back = toFailure(error)
      expect(back).toMatchObject({ reason: seen, details: {}, cause: error })
      expect(back.message).not.toContain('why')
      expect(back.retryAfterS).toBe(failure.retryAfterS)
    },
  )

  it.each([
    [0.25, 0n, 250_000_000],
    [1, 1n, 0],
    [1.999_999_999_9, 2n, 0],
  ])(
    'a refusal on the wire says in a valid duration to retry after %f s',
    (retryAfterS, seconds, nanos) => {
      const error = toConnectError(new Failure('RATE_LIMIT_EXCEEDED', 'why', { retryAfterS }))
      expect(error.findDetails(RetryInfoSchema)[0]?.retryDelay).toMatchObject({ seconds, nanos })
    },
  )

  it('a refusal on the wire has a reason also when it was thrown without one', () => {
    for (const code of Object.values(Code)) {
      if (typeof code !== 'number') continue
      const error = withReason(new ConnectError('x', code))
      expect(hasReason(error), Code[code]).toBe(true)
      expect(error).toMatchObject({ code, rawMessage: 'x' })
      expect(withReason(error).details).toHaveLength(1)
    }
  })

  it.each([
    [Code.Unavailable, 'SERVICE_UNAVAILABLE'],
    [Code.DeadlineExceeded, 'TIMEOUT'],
    [Code.Canceled, 'TIMEOUT'],
    [Code.PermissionDenied, 'INTERNAL_ERROR'],
    [Code.Unauthenticated, 'INTERNAL_ERROR'],
    [Code.Unimplemented, 'INTERNAL_ERROR'],
  ] as const)(
    'a refusal on the wire without a reason of ours, code %s, is %s and shows no text',
    (code, reason) => {
      const failure = toFailure(new ConnectError('text of a stranger', code))
      expect(failure.reason).toBe(reason)
      expect(failure.message).not.toContain('stranger')
    },
  )

  it('a refusal on the wire ignores a reason of another domain or an unknown one', () => {
    const infos = [
      { reason: 'PAYMENT_NOT_FOUND', domain: 'example.com' },
      { reason: 'NO_SUCH_REASON', domain: 'payweave' },
    ]
    for (const value of infos) {
      const details = [{ desc: ErrorInfoSchema, value }]
      const error = new ConnectError('x', Code.NotFound, undefined, details)
      expect(toFailure(error).reason).toBe('INTERNAL_ERROR')
    }
  })
})
