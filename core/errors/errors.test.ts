// Tests the table of reasons against the list of error codes.
import { describe, expect, it } from 'vitest'
import { Failure, isPublicReason, isReason, publicReasons, reasons } from './errors.ts'

const documented = {
  400: `MISSING_PARAMETER INVALID_PARAMETER INVALID_HEADER INVALID_JSON VERSION_NOT_SUPPORTED
    UNSUPPORTED_CHANNEL_METHOD AMOUNT_MISMATCH SAME_PARTIES IDEMPOTENCY_KEY_REQUIRED
    RECEIPT_ID_NOT_ACCEPTED CUSTOMER_REFERENCE_INVALID AMOUNT_OUT_OF_RANGE CURRENCY_NOT_SUPPORTED`,
  401: 'PW_INVALID_SUBSCRIPTION_KEY PW_INVALID_API_KEY SESSION_INVALID SESSION_EXPIRED',
  403: `PW_IP_NOT_ALLOWED PW_ACCOUNT_ACCESS_REQUIRED PW_INSTITUTION_ENDPOINT_NOT_ALLOWED
    LIMIT_EXCEEDED ACCOUNT_UNAVAILABLE PARTY_NOT_ALLOWED`,
  404: `ENDPOINT_NOT_FOUND ACCOUNT_NOT_FOUND PAYMENT_NOT_FOUND QUOTE_NOT_FOUND
    TRANSACTION_NOT_FOUND BILL_PAYMENT_NOT_FOUND DELIVERY_NOT_FOUND BILLER_NOT_FOUND PRODUCT_NOT_FOUND`,
  405: 'METHOD_NOT_ALLOWED',
  409: `AMBIGUOUS_MATCH DUPLICATE_TRANSACTION_ID PAYMENT_NOT_CANCELLABLE PAYMENT_NOT_REFUNDABLE
    QUOTE_EXPIRED QUOTE_ALREADY_USED INSUFFICIENT_FUNDS RECEIPT_NOT_AVAILABLE IDEMPOTENCY_KEY_CONFLICT
    IDEMPOTENCY_KEY_IN_PROGRESS REQUEST_ID_REUSED ACCOUNT_EXISTS QUOTE_MISMATCH`,
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  417: 'EXPECTATION_FAILED',
  429: 'RATE_LIMIT_EXCEEDED',
  431: 'HEADERS_TOO_LARGE',
  500: 'INTERNAL_ERROR',
  503: 'SERVICE_UNAVAILABLE',
  504: 'TIMEOUT',
}

describe('reasons', () => {
  it('publicReasons holds exactly the documented codes, each with its documented HTTP status', () => {
    const expected = Object.entries(documented).flatMap(([http, codes]) =>
      codes.split(/\s+/).map((code) => `${http} ${code}`),
    )
    const actual = Object.entries(publicReasons).map(([code, row]) => `${row.http} ${code}`)
    expect(actual.toSorted()).toEqual(expected.toSorted())
    expect(isPublicReason('DELIVERY_NOT_FOUND')).toBe(true)
    expect(isPublicReason('UNAUTHENTICATED')).toBe(false)
    // A request that arrives too slowly has the code of a time-out.
    expect(publicReasons.TIMEOUT.httpOfSlowClient).toBe(408)
  })

  it('reasons ask the caller to retry later on every failure of ours', () => {
    const ours = Object.values(reasons).filter((row) => row.http >= 500)
    for (const row of ours) expect(row.meaning).toMatch(/retry later/)
  })

  it('reasons are distinguished from other texts, inherited property names included', () => {
    expect(isReason('PAYMENT_NOT_FOUND')).toBe(true)
    expect(isReason('toString')).toBe(false)
    expect(isReason('payment_not_found')).toBe(false)
  })
})

describe('Failure', () => {
  it('Failure has its reason, details and cause', () => {
    const cause = new Error('below')
    const failure = new Failure('ACCOUNT_NOT_FOUND', 'no such account', {
      details: { lookup_type: 'MOBILE' },
      cause,
    })
    expect(failure).toBeInstanceOf(Error)
    expect(failure).toMatchObject({
      name: 'Failure',
      reason: 'ACCOUNT_NOT_FOUND',
      message: 'no such account',
      details: { lookup_type: 'MOBILE' },
      cause,
    })
    expect(failure.retryAfterS).toBeUndefined()
  })

  it('Failure takes the time to retry after from the table unless it is given', () => {
    expect(new Failure('IDEMPOTENCY_KEY_IN_PROGRESS', 'running').retryAfterS).toBe(1)
    expect(new Failure('RATE_LIMIT_EXCEEDED', 'wait', { retryAfterS: 7 }).retryAfterS).toBe(7)
  })
})
