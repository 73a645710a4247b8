// When the published client makes a call again, and when it must not.
import { assert, double, nat, property } from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { SettlementPostingService } from '#gen/payweave/accounts/v1/settlement_posting_pb.js'
import { CatalogueService } from '#gen/payweave/billing/v1/catalogue_pb.js'
import { PaymentsService } from '#gen/payweave/payments/v1/payments_pb.js'
import { RoutingService } from '#gen/payweave/payments/v1/routes_pb.js'
import { QuotesService } from '#gen/payweave/quotes/v1/quotes_pb.js'
import {
  backoffMs,
  createRetryBudget,
  defaultRetryPolicy,
  isRepeatable,
} from '../../clients/grpc/retry.ts'
import { eventually } from '../support/eventually.ts'
import { freePorts } from '../support/servers.ts'
import { callContext, connect, errorOf, serve } from './harness.ts'

const unavailable = () => new Failure('SERVICE_UNAVAILABLE', 'the database is away')

let calls: Array<{ requestId: string; atMs: number }> = []
afterEach(() => {
  calls = []
})

/** Throws the given failures one after the other, then answers. */
function failing(failures: Failure[]) {
  return () => {
    calls.push({ requestId: callContext().requestId, atMs: Date.now() })
    const failure = failures.shift()
    if (failure !== undefined) throw failure
    return {}
  }
}

async function serveFailing(...failures: Failure[]) {
  const { url } = await serve((router) => {
    const answer = failing(failures)
    router.service(PaymentsService, { getPayment: answer, createPayment: answer })
    router.service(QuotesService, { createQuote: answer })
  })
  return url
}

it.each([
  RoutingService.method.deleteRoute,
  CatalogueService.method.resolveReview,
  SettlementPostingService.method.retrySettlement,
])('a call of $name is not made again: after it succeeded, a repeat is NOT_FOUND', (method) => {
  expect(isRepeatable(method)).toBe(false)
})

describe('a call that may be repeated', () => {
  it('a call that may be repeated is made again while the service is unavailable, under the same request id', async () => {
    const { payments } = connect(await serveFailing(unavailable(), unavailable()))
    await payments.getPayment({})
    expect(calls).toHaveLength(3)
    expect(new Set(calls.map(({ requestId }) => requestId)).size).toBe(1)
    calls = []
    // It changes something, and says that a repeat changes nothing more.
    await payments.createPayment({})
    expect(calls).toHaveLength(1)
  })

  it('a call that may be repeated waits as long as a service that is too busy asks for', async () => {
    const busy = new Failure('RATE_LIMIT_EXCEEDED', 'too many', { retryAfterS: 0.3 })
    const { payments } = connect(await serveFailing(busy))
    await payments.createPayment({})
    const [first, second] = calls
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(295)
  })

  it('a call that may be repeated is not made again for any other refusal', async () => {
    for (const reason of [
      'INTERNAL_ERROR',
      'PAYMENT_NOT_FOUND',
      'PAYLOAD_TOO_LARGE',
      'TIMEOUT',
    ] as const) {
      calls = []
      const { payments } = connect(await serveFailing(new Failure(reason, 'no')))
      expect(await errorOf(payments.getPayment({}))).toMatchObject({ reason })
      expect(calls).toHaveLength(1)
    }
  })

  it('a call fails after the maximum number of attempts', async () => {
    const { payments } = connect(await serveFailing(...Array.from({ length: 9 }, unavailable)), {
      retry: { initialBackoffMs: 1 },
    })
    expect(await errorOf(payments.getPayment({}))).toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
    expect(calls).toHaveLength(4)
    await errorOf(payments.getPayment({}, { retry: { maxAttempts: 2 } }))
    expect(calls).toHaveLength(6)
    await errorOf(payments.getPayment({}, { retry: false }))
    expect(calls).toHaveLength(7)
  })

  it('a call fails at once when the next attempt would begin after its deadline', async () => {
    const busy = new Failure('SERVICE_UNAVAILABLE', 'restarting', { retryAfterS: 60 })
    const { payments } = connect(await serveFailing(busy))
    const startedMs = Date.now()
    const error = await errorOf(payments.getPayment({}, { timeoutMs: 15_000 }))
    expect(error).toMatchObject({ status: 'UNAVAILABLE', retryDelayMs: 60_000 })
    expect(Date.now() - startedMs).toBeLessThan(12_000)
    expect(calls).toHaveLength(1)
  })

  it('a call that may be repeated is not made again once its caller has aborted the wait', async () => {
    const busy = new Failure('SERVICE_UNAVAILABLE', 'restarting', { retryAfterS: 30 })
    const { payments } = connect(await serveFailing(busy))
    const startedMs = Date.now()
    const abort = new AbortController()
    const call = errorOf(payments.getPayment({}, { signal: abort.signal, timeoutMs: 60_000 }))
    await eventually(() => expect(calls.length).toBe(1))
    setTimeout(() => abort.abort(), 50)
    expect(await call).toMatchObject({ status: 'CANCELLED' })
    expect(Date.now() - startedMs).toBeLessThan(15_000)
    expect(calls).toHaveLength(1)
  })

  it('a call that may be repeated finds a service that starts only now', async () => {
    const [port = 0] = await freePorts(1)
    const { payments } = connect(`http://127.0.0.1:${port}`, { retry: { maxAttempts: 50 } })
    const call = payments.getPayment({})
    await serve((router) => router.service(PaymentsService, { getPayment: failing([]) }), { port })
    await call
    expect(calls).toHaveLength(1)
  })
})

describe('a call that may not be repeated', () => {
  it('a call that may not be repeated is made once, also after a failure', async () => {
    const { quotes } = connect(await serveFailing(unavailable()))
    expect(await errorOf(quotes.createQuote({}))).toMatchObject({ status: 'UNAVAILABLE' })
    expect(calls).toHaveLength(1)
  })
})

describe('the wait before an attempt', () => {
  it('the wait before an attempt is a random part of a ceiling that doubles up to a bound, after what the service asks for', () => {
    const ceilings = [1, 2, 3, 6, 9].map((attempt) =>
      backoffMs(defaultRetryPolicy, attempt, 0, () => 1),
    )
    expect(ceilings).toEqual([100, 200, 400, 2_000, 2_000])
    assert(
      property(nat(20), nat(60_000), double({ min: 0, max: 1, noNaN: true }), (n, asked, part) => {
        const waitMs = backoffMs(defaultRetryPolicy, n + 1, asked, () => part)
        expect(waitMs).toBeGreaterThanOrEqual(asked)
        expect(waitMs).toBeLessThanOrEqual(asked + defaultRetryPolicy.maxBackoffMs)
      }),
    )
  })

  it('the wait before an attempt does not come once half of the budget is spent, until successes have filled it', () => {
    const budget = createRetryBudget()
    const allowed = Array.from({ length: 60 }, () => budget.failed())
    expect(allowed.filter(Boolean)).toHaveLength(49)
    expect(budget.failed()).toBe(false)
    for (let count = 0; count < 200; count += 1) budget.succeeded()
    expect(budget.failed()).toBe(true)
  })
})
