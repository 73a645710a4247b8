// What the published client does for one call: headers, deadline, cancellation, credential and error.
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DescService } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { Health, HealthCheckResponse_ServingStatus as Serving } from '#gen/health/v1/health_pb.js'
import { PaymentsService } from '#gen/payweave/payments/v1/payments_pb.js'
import type { CallContext } from '#platform/rpc/context.ts'
import { PayweaveError, Status } from '../../clients/grpc/index.ts'
import { services } from '../../clients/grpc/payweave.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryFolder } from '../support/servers.ts'
import { atEnd, callContext, connect, errorOf, otherToken, serve, token } from './harness.ts'

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/
const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

/** Serves GetPayment with the given handler, and records the contexts of the calls. */
async function servePayments(answer: (context: CallContext) => unknown = () => undefined) {
  const contexts: CallContext[] = []
  const server = await serve((router) =>
    router.service(PaymentsService, {
      async getPayment({ paymentId }) {
        const context = callContext()
        contexts.push(context)
        await answer(context)
        return { payment: { paymentId, amountMinor: 1_234n } }
      },
    }),
  )
  return { ...server, contexts }
}

/** Ends when the caller has gone. */
function gone({ signal }: CallContext): Promise<void> {
  return new Promise((resolve) => signal?.addEventListener('abort', () => resolve()))
}

it('a client has a name for every service, which its page lists, but for those of each process', async () => {
  const [gen, page] = [
    new URL('../../gen/payweave/', import.meta.url),
    readFileSync('clients/grpc/README.md', 'utf8'),
  ]
  const files = globSync('**/*_pb.js', { cwd: gen })
  const modules = await Promise.all(
    files.map(
      async (file) => (await import(new URL(file, gen).href)) as Record<string, DescService>,
    ),
  )
  const all = modules.flatMap((one) => Object.values(one)).filter(({ kind }) => kind === 'service')
  const named = new Set<string>(Object.values(services).map(([, service]) => service.typeName))
  const others = all.map(({ typeName }) => typeName).filter((name) => !named.has(name))
  expect(others.map((name) => name.split('.').at(-1)).toSorted()).toEqual([
    'CallService',
    'ClockService',
    'InboxService',
    'KeyService',
  ])
  for (const [name, [part]] of Object.entries(services)) {
    expect(page).toMatch(new RegExp(`^\\| ${part} \\|.*\`${name}\``, 'm'))
  }
})

describe('a call', () => {
  it('a call carries bearer and typed messages', async () => {
    const { url, contexts } = await servePayments()
    const { payment } = await connect(url).payments.getPayment({ paymentId: 'one' })
    expect(payment).toMatchObject({ paymentId: 'one', amountMinor: 1_234n })
    expect(contexts[0]?.caller).toMatchObject({ kind: 'bearer', name: 'team-0' })
  })

  it('a call has a request id of its own, or the given one', async () => {
    const { url, contexts } = await servePayments()
    const { payments } = connect(url)
    await payments.getPayment({})
    await payments.getPayment({})
    const given = crypto.randomUUID()
    await payments.getPayment({}, { requestId: given })
    const ids = contexts.map(({ requestId }) => requestId)
    expect(new Set(ids).size).toBe(3)
    expect(ids[0]).toMatch(uuid)
    expect(ids[2]).toBe(given)
  })

  it('a call goes on with the trace and request id of the work at hand', async () => {
    const { url, contexts } = await servePayments()
    const requestId = crypto.randomUUID()
    const traces = [traceparent, undefined]
    const { payments } = connect(url, {
      traceparent: () => traces.shift(),
      requestId: () => requestId,
    })
    await payments.getPayment({})
    await payments.getPayment({})
    await payments.getPayment({}, { traceparent })
    const traceIds = contexts.map((context) => context.traceparent.split('-')[1])
    expect(traceIds[0]).toBe('0af7651916cd43dd8448eb211c80319c')
    expect(traceIds[1]).not.toBe(traceIds[0])
    expect(traceIds[2]).toBe(traceIds[0])
    expect(contexts.map((context) => context.requestId)).toEqual([requestId, requestId, requestId])
  })

  it('a call sends its deadline to the service, and ends by it', async () => {
    const { url, contexts } = await servePayments(gone)
    const client = connect(url, { timeoutMs: 250 })
    // The time of a call is none to connect in.
    await client.service('payments', Health).check({}, { timeoutMs: 10_000 })
    const { payments } = client
    for (const [options, lifeMs] of [
      [{}, 250],
      [{ timeoutMs: 100 }, 100],
    ] as const) {
      const before = contexts.length
      // One whose time was over before it left has reached nobody: then another is made.
      await eventually(async () => {
        const error = await errorOf(payments.getPayment({}, options))
        expect(error).toMatchObject({ name: 'PayweaveError', code: Status.DEADLINE_EXCEEDED })
        expect(contexts.length).toBeGreaterThan(before)
      })
      // Not the ten seconds that a call has if nobody says so.
      expect((contexts.at(-1)?.deadline ?? 0) - Date.now()).toBeLessThanOrEqual(lifeMs)
    }
  })

  it('a call has a deadline of ten seconds by default', async () => {
    const { url, contexts } = await servePayments()
    const startedMs = Date.now()
    await connect(url).payments.getPayment({})
    const allowedMs = (contexts[0]?.deadline ?? 0) - startedMs
    // What is left travels in whole milliseconds, and the way there takes its time.
    expect(allowedMs).toBeGreaterThanOrEqual(9_999)
    expect(allowedMs).toBeLessThanOrEqual(10_001 + Date.now() - startedMs)
  })

  it('a call is cancelled at the service when its caller aborts', async () => {
    const cancelled = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const { url } = await servePayments(async (context) => {
      begun.resolve()
      await gone(context)
      cancelled.resolve()
    })
    const abort = new AbortController()
    const call = errorOf(connect(url).payments.getPayment({}, { signal: abort.signal }))
    await begun.promise
    abort.abort(new Error('changed my mind'))
    const error = await call
    expect(error).toMatchObject({ status: 'CANCELLED', cause: { message: 'changed my mind' } })
    await cancelled.promise
  })

  it('a call is not made when its caller has aborted before', async () => {
    const { url, contexts } = await servePayments()
    const error = await errorOf(
      connect(url).payments.getPayment({}, { signal: AbortSignal.abort() }),
    )
    expect(error).toMatchObject({ status: 'CANCELLED' })
    expect(contexts).toEqual([])
  })

  it('a call is not made after the client was closed; one in flight ends well', async () => {
    const begun = Promise.withResolvers<void>()
    const closed = Promise.withResolvers<void>()
    const { url } = await servePayments(async () => {
      begun.resolve()
      await closed.promise
    })
    const client = connect(url)
    const flying = client.payments.getPayment({ paymentId: 'one' })
    await begun.promise
    client.close()
    closed.resolve()
    expect((await flying).payment?.paymentId).toBe('one')
    const error = await errorOf(client.payments.getPayment({}))
    expect(error).toMatchObject({ status: 'CANCELLED', details: 'the client is closed' })
  })

  it('a call can be made to any service of a part', async () => {
    const { url } = await servePayments()
    const health = connect(url).service('payments', Health)
    expect((await health.check({})).status).toBe(Serving.SERVING)
  })

  it('a call to a part without an address is an error of the caller', async () => {
    const client = connect('', { address: { payments: 'http://127.0.0.1:1' } })
    await expect(client.accounts.getAccountBalance({})).rejects.toThrow(/no address of accounts/)
  })
})

describe('an error', () => {
  it('an error has the reason, facts and field of a refusal', async () => {
    const { url } = await servePayments(() => {
      throw new Failure('INVALID_PARAMETER', 'no such payment – naïve', {
        details: { field: 'payment_id', limit: '3' },
      })
    })
    const requestId = crypto.randomUUID()
    const error = await errorOf(connect(url).payments.getPayment({}, { requestId }))
    expect(error).toBeInstanceOf(PayweaveError)
    expect(error).toMatchObject({
      code: Status.INVALID_ARGUMENT,
      status: 'INVALID_ARGUMENT',
      reason: 'INVALID_PARAMETER',
      domain: 'payweave',
      metadata: { field: 'payment_id', limit: '3' },
      fields: [{ field: 'payment_id', description: 'no such payment – naïve' }],
      details: 'no such payment – naïve',
      retryDelayMs: undefined,
      method: 'payweave.payments.v1.PaymentsService/GetPayment',
      requestId,
      message:
        'payweave.payments.v1.PaymentsService/GetPayment: INVALID_ARGUMENT (INVALID_PARAMETER): no such payment – naïve',
    })
  })

  it('an error has no reason where no service has decided', async () => {
    const nobody = connect('http://127.0.0.1:1', { retry: false })
    const error = await errorOf(nobody.payments.getPayment({}))
    expect(error).toMatchObject({ status: 'UNAVAILABLE', reason: undefined, metadata: {} })
  })

  it('an error shows neither the bearer nor the message', async () => {
    const { url } = await servePayments(() => {
      throw new Error('a bug')
    })
    const error = await errorOf(connect(url).payments.getPayment({ paymentId: 'secret-id' }))
    expect(error).toMatchObject({ status: 'INTERNAL' })
    const shown = JSON.stringify(error, Object.getOwnPropertyNames(error))
    expect(shown).not.toContain(token)
    expect(shown).not.toContain('secret-id')
  })
})

describe('a bearer in a file', () => {
  it('a bearer in a file is read without its line end, and a missing file fails the call alone', async () => {
    const folder = temporaryFolder('client-token')
    atEnd(() => rmSync(folder, { recursive: true }))
    const tokenFile = join(folder, 'token')
    const { url, contexts } = await servePayments()
    const { payments } = connect(url, { tokenFile })
    await expect(payments.getPayment({})).rejects.toThrow(/ENOENT/)
    writeFileSync(tokenFile, `${otherToken}\n`)
    await payments.getPayment({})
    expect(contexts.map(({ caller }) => caller?.name)).toEqual(['team-1'])
  })

  it('a bearer in a file that is not believed is refused by the service', async () => {
    const { url } = await servePayments()
    const error = await errorOf(connect(url, { token: 'x'.repeat(43) }).payments.getPayment({}))
    expect(error).toMatchObject({ status: 'UNAUTHENTICATED' })
  })
})
