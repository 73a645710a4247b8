// That every refusal survives the way to another process, and what an undecided call becomes.

import { Code, ConnectError } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { Failure, type Reason, reasons } from '#core/errors.ts'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.js'
import { statusName, toConnectError, toFailure } from './errors.ts'

describe('a refusal on the wire', () => {
  it.each(Object.keys(reasons) as Reason[])('keeps the reason %s', (reason) => {
    const failure = new Failure(reason, 'why', { details: { key: 'value' } })
    const error = toConnectError(failure)
    expect(statusName(error.code)).toBe(reasons[reason].rpc)
    const back = toFailure(error)
    expect(back).toMatchObject({ reason, message: 'why', details: { key: 'value' } })
    expect(back.retryAfterS).toBe(failure.retryAfterS)
  })

  it.each([
    [Code.Unavailable, 'SERVICE_UNAVAILABLE'],
    [Code.DeadlineExceeded, 'TIMEOUT'],
    [Code.Canceled, 'TIMEOUT'],
    [Code.PermissionDenied, 'INTERNAL_ERROR'],
    [Code.Unauthenticated, 'INTERNAL_ERROR'],
    [Code.Unimplemented, 'INTERNAL_ERROR'],
  ] as const)('without a reason of ours, code %s, is %s and shows no text', (code, reason) => {
    const failure = toFailure(new ConnectError('text of a stranger', code))
    expect(failure.reason).toBe(reason)
    expect(failure.message).not.toContain('stranger')
  })

  it('does not believe a reason of another domain or an unknown one', () => {
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
