// Tests of a server over Connect: answers, refusals, deadlines, context and shutdown.
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import { afterEach, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from '#gen/google/rpc/error_details_pb.js'
import { Health } from '#gen/health/v1/health_pb.js'
import { InboxService, InboxState } from '#gen/payweave/events/v1/events_pb.js'
import { startStopwatch } from '../../../test/support/stopwatch.ts'
import { bearerCredential, startInbox } from '../../testing/rpc/harness.ts'
import { projectOf } from '../auth/callers.ts'
import { createRpcClient, withProject } from '../client/client.ts'
import { type CallContext, currentContext, runWithContext } from '../context.ts'

const eventId = '0197a9b0-3f6a-7000-8000-000000000001'
const requestId = '0197a9b0-3f6a-7000-8000-0000000000aa'
const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

const closers: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function start(...args: Parameters<typeof startInbox>) {
  const started = await startInbox(...args)
  closers.push(() => started.server.close())
  return started
}

function inboxAs(started: Awaited<ReturnType<typeof start>>, name: string, timeoutMs?: number) {
  const identity = started.identityOf(name)
  return createRpcClient(InboxService, {
    url: started.url,
    audience: 'delivery',
    identity,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  })
}

function foreign(url: string, authorization: string | undefined, httpVersion: '1.1' | '2' = '1.1') {
  const transport = createConnectTransport({
    baseUrl: url,
    httpVersion,
    interceptors: [
      (next) => (request) => {
        if (authorization !== undefined) request.header.set('authorization', authorization)
        return next(request)
      },
    ],
  })
  return createClient(InboxService, transport)
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  return error === undefined ? 'ok' : Code[ConnectError.from(error).code]
}

async function failureOf(call: Promise<unknown>): Promise<Failure> {
  const thrown = await call.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(thrown).toBeInstanceOf(Failure)
  return thrown as Failure
}

describe('permission to call', () => {
  it.each(['1.1', '2'] as const)(
    'permission to call is decided by the credential over HTTP/%s',
    async (version) => {
      const started = await start(() => ({ known: [] }))
      const tokenOf = (name: string) => started.identityOf(name).authorization('delivery')
      const call = (authorization: string | undefined) =>
        codeOf(foreign(started.url, authorization, version).seen({}))
      expect(await call(undefined)).toBe('Unauthenticated')
      expect(await call('Bearer nonsense')).toBe('Unauthenticated')
      expect(await call(started.identityOf('payments').authorization('accounts'))).toBe(
        'Unauthenticated',
      )
      expect(await call(tokenOf('gateway'))).toBe('PermissionDenied')
      expect(await call(tokenOf('payments'))).toBe('ok')
      expect(await call(`Bearer ${bearerCredential}`)).toBe('ok')
    },
  )

  it('permission to call is checked before the body is read and before the method is looked up', async () => {
    const { url, identityOf } = await start(() => ({ known: [] }))
    const authorization = identityOf('payments').authorization('delivery')
    const post = (path: string, headers: Record<string, string>, body: string) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', ...headers },
      })
    expect((await post('/payweave.events.v1.InboxService/Seen', {}, 'not json')).status).toBe(401)
    expect((await post('/payweave.events.v1.InboxService/Nothing', {}, '{}')).status).toBe(401)
    expect((await post('/no.Such/Method', {}, '{}')).status).toBe(401)
    const known = await post('/no.Such/Method', { authorization }, '{}')
    expect(known.status).toBe(501)
    expect(await known.json()).toMatchObject({ code: 'unimplemented' })
    expect(
      (await post('/payweave.events.v1.InboxService/Seen', { authorization }, 'not json')).status,
    ).toBe(400)
  })

  it('a health check needs no permission to call', async () => {
    const { url } = await start(() => ({ known: [] }))
    const health = createClient(
      Health,
      createConnectTransport({ baseUrl: url, httpVersion: '1.1' }),
    )
    expect(await health.check({})).toMatchObject({ status: 1 })
  })
})

describe('a call', () => {
  it('a call hands on request id, trace, project and deadline to the calls made for it', async () => {
    let inner: CallContext | undefined
    let project: string | undefined
    const back = await start((_, context) => {
      inner = currentContext()
      project = projectOf(context, '')
      return { known: [{ eventId, state: InboxState.SEEN }] }
    })
    const client = inboxAs(back, 'payments')
    const deadline = Date.now() + 5_000
    const sentMs = Date.now()
    const answer = await runWithContext({ requestId, traceparent, deadline }, () =>
      client.seen({ eventIds: [eventId] }, withProject('p-1')),
    )
    const tookMs = Date.now() - sentMs
    expect(answer.known[0]).toMatchObject({ eventId, state: InboxState.SEEN })
    expect(project).toBe('p-1')
    expect(inner).toMatchObject({ requestId, caller: { kind: 'service', name: 'payments' } })
    expect(inner?.traceparent.slice(0, 35)).toBe(traceparent.slice(0, 35))
    expect(inner?.traceparent).not.toBe(traceparent)
    // What is left travels in whole milliseconds, and the way there takes its time.
    const laterMs = (inner?.deadline ?? 0) - deadline
    expect(laterMs).toBeGreaterThanOrEqual(-1)
    expect(laterMs).toBeLessThanOrEqual(tookMs + 1)
  })

  it('a call without a request id and a deadline gets both', async () => {
    let inner: CallContext | undefined
    const started = await start(() => {
      inner = currentContext()
      return { known: [] }
    })
    const sentMs = Date.now()
    await foreign(started.url, `Bearer ${bearerCredential}`).seen({})
    expect(inner?.requestId).toMatch(/^[0-9a-f-]{36}$/)
    expect(inner?.deadline).toBeGreaterThanOrEqual(sentMs + 10_000)
    expect(inner?.deadline).toBeLessThanOrEqual(Date.now() + 10_000)
  })

  it('a call is answered at its deadline although the handler ignores it', async () => {
    const started = await start(() => new Promise(() => undefined))
    const call = foreign(started.url, `Bearer ${bearerCredential}`, '2')
    const watch = startStopwatch()
    const response = await fetch(`${started.url}/payweave.events.v1.InboxService/Seen`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${bearerCredential}`,
        'content-type': 'application/json',
        'connect-timeout-ms': '150',
      },
      body: '{}',
    })
    expect(await response.json()).toMatchObject({ code: 'deadline_exceeded' })
    // Not at that of calls which bring none, after 10 s.
    expect(watch.elapsedMs()).toBeLessThan(2_000)
    expect(await codeOf(call.seen({}, { timeoutMs: 100 }))).toBe('DeadlineExceeded')
  })

  it('a call that asks for more than the maximum time gets the maximum', async () => {
    let left = 0
    const started = await start((_, context) => {
      left = context.timeoutMs() ?? 0
      return { known: [] }
    })
    await foreign(started.url, `Bearer ${bearerCredential}`).seen({}, { timeoutMs: 3_600_000 })
    expect(left).toBeGreaterThan(50_000)
    expect(left).toBeLessThanOrEqual(60_000)
  })

  it('a call aborts the calls made for it when its caller goes away, and not because it was answered', async () => {
    const aborted = Promise.withResolvers<string>()
    const entered = Promise.withResolvers<void>()
    const slow = await start((_, { signal }) => {
      entered.resolve()
      signal.addEventListener('abort', () => aborted.resolve('aborted'))
      return new Promise(() => undefined)
    })
    const toSlow = inboxAs(slow, 'payments')
    const front = await start(async () => await toSlow.seen({}))
    const leaving = new AbortController()
    const call = codeOf(
      foreign(front.url, `Bearer ${bearerCredential}`).seen({}, { signal: leaving.signal }),
    )
    await entered.promise
    leaving.abort()
    expect(await call).toBe('Canceled')
    expect(await aborted.promise).toBe('aborted')

    const later = Promise.withResolvers<string>()
    const ended = Promise.withResolvers<void>()
    const calm = await start(async () => {
      await ended.promise
      return { known: [] }
    })
    const toCalm = inboxAs(calm, 'payments')
    const fast = await start(() => {
      void codeOf(toCalm.seen({})).then(later.resolve)
      return { known: [] }
    })
    await foreign(fast.url, `Bearer ${bearerCredential}`).seen({})
    ended.resolve()
    expect(await later.promise).toBe('ok')
  })

  it('a call makes no nested call once its time is up', async () => {
    const started = await start(() => ({ known: [] }))
    const client = inboxAs(started, 'payments')
    const failure = await runWithContext({ requestId, traceparent, deadline: Date.now() - 1 }, () =>
      failureOf(client.seen({})),
    )
    expect(failure.reason).toBe('TIMEOUT')
  })

  it('a call is refused when the message is over 4 MiB', async () => {
    const started = await start(() => ({ known: [] }))
    const call = foreign(started.url, `Bearer ${bearerCredential}`)
    expect(await codeOf(call.seen({ eventIds: ['x'.repeat(5 << 20)] }))).toBe('ResourceExhausted')
    expect(await codeOf(call.seen({ eventIds: ['x'.repeat(3 << 20)] }))).toBe('ok')
  })
})

describe('a project in the token', () => {
  it('a project in the token lets a call act for that project only', async () => {
    const started = await start((request, context) => {
      projectOf(context, request.eventIds[0] ?? '')
      return { known: [] }
    })
    const client = inboxAs(started, 'payments')
    expect(await codeOf(client.seen({ eventIds: ['p-1'] }, withProject('p-1')))).toBe('ok')
    expect(await codeOf(client.seen({ eventIds: ['p-2'] }))).toBe('ok')
    expect(
      (await failureOf(client.seen({ eventIds: ['p-2'] }, withProject('p-1')))).cause,
    ).toMatchObject({
      code: Code.PermissionDenied,
    })
    expect((await failureOf(client.seen({}))).reason).toBe('MISSING_PARAMETER')
  })
})

describe('a refusal', () => {
  it('a refusal arrives as the Failure that was thrown', async () => {
    const started = await start(() => {
      throw new Failure('RATE_LIMIT_EXCEEDED', 'too many', {
        details: { field: 'event_ids' },
        retryAfterS: 2.5,
      })
    })
    const failure = await failureOf(inboxAs(started, 'payments').seen({}))
    expect(failure).toMatchObject({
      reason: 'RATE_LIMIT_EXCEEDED',
      message: 'too many',
      details: { field: 'event_ids' },
      retryAfterS: 2.5,
    })
    const error = await foreign(started.url, `Bearer ${bearerCredential}`)
      .seen({})
      .then(
        () => undefined,
        (thrown: unknown) => ConnectError.from(thrown),
      )
    expect(error?.code).toBe(Code.ResourceExhausted)
    expect(error?.findDetails(ErrorInfoSchema)[0]).toMatchObject({
      reason: 'RATE_LIMIT_EXCEEDED',
      domain: 'payweave',
    })
    expect(error?.findDetails(BadRequestSchema)[0]?.fieldViolations[0]?.field).toBe('event_ids')
    expect(error?.findDetails(RetryInfoSchema)[0]?.retryDelay).toMatchObject({ seconds: 2n })
  })

  it('a refusal shows nothing of a bug, which is logged once', async () => {
    const started = await start(() => {
      throw new TypeError('secret detail')
    })
    const failure = await failureOf(inboxAs(started, 'payments').seen({}))
    expect(failure.reason).toBe('INTERNAL_ERROR')
    expect(`${failure.message}${String(failure.cause)}`).not.toContain('secret detail')
    const errors = started.lines.filter((line) => line['level'] === 'error')
    expect(errors).toHaveLength(1)
    expect(errors[0]).toMatchObject({
      rpc: 'payweave.events.v1.InboxService/Seen',
      caller: 'payments',
    })
  })

  it('a refusal says unavailable when nothing listens and too late when no answer comes', async () => {
    const started = await start(() => new Promise(() => undefined))
    const late = await failureOf(inboxAs(started, 'payments', 100).seen({}))
    expect(late.reason).toBe('TIMEOUT')
    const { identityOf, server } = started
    await server.close()
    const down = createRpcClient(InboxService, {
      url: started.url,
      audience: 'delivery',
      identity: identityOf('payments'),
    })
    expect((await failureOf(down.seen({}))).reason).toBe('SERVICE_UNAVAILABLE')
  })
})

describe('the record of a call', () => {
  it('the record of a call is one line and one observation, refused calls included', async () => {
    const observed: string[] = []
    const metrics = {
      began: () => undefined,
      ended: () => undefined,
      observe: (method: string, code: string) => void observed.push(`${method} ${code}`),
    }
    const started = await start(() => ({ known: [] }), { metrics })
    await foreign(started.url, `Bearer ${bearerCredential}`).seen({})
    await codeOf(foreign(started.url, undefined).seen({}))
    expect(observed).toEqual([
      'payweave.events.v1.InboxService/Seen ok',
      'payweave.events.v1.InboxService/Seen unauthenticated',
    ])
    expect(started.lines.map((line) => [line['level'], line['code'], line['caller']])).toEqual([
      ['debug', 'ok', 'auditor'],
      ['info', 'unauthenticated', undefined],
    ])
  })
})

describe('closing', () => {
  it('closing does not wait for a stream that was answered before its body was read', async () => {
    const started = await start(() => ({ known: [] }))
    const call = foreign(started.url, `Bearer ${bearerCredential}`, '2')
    expect(await codeOf(call.seen({ eventIds: ['x'.repeat(5 << 20)] }))).toBe('ResourceExhausted')
    const watch = startStopwatch()
    await started.server.close()
    // The grace of calls under way is 10 s.
    expect(watch.elapsedMs()).toBeLessThan(2_000)
  })

  it('closing completes a call in flight and accepts no new one', async () => {
    const release = Promise.withResolvers<void>()
    const entered = Promise.withResolvers<void>()
    const started = await start(async () => {
      entered.resolve()
      await release.promise
      return { known: [] }
    })
    const client = inboxAs(started, 'payments')
    const inFlight = codeOf(client.seen({}))
    await entered.promise
    const closed = started.server.close()
    expect((await failureOf(client.seen({}))).reason).toBe('SERVICE_UNAVAILABLE')
    release.resolve()
    expect(await inFlight).toBe('ok')
    await closed
  })

  it('closing does not wait for an idle client or longer than the grace for a busy one', async () => {
    const bothEntered = Promise.withResolvers<void>()
    let calls = 0
    const handler = () => {
      calls += 1
      if (calls === 2) bothEntered.resolve()
      return new Promise<never>(() => undefined)
    }
    const started = await start(handler, { graceMs: 200 })
    const idle = createClient(
      Health,
      createConnectTransport({ baseUrl: started.url, httpVersion: '2' }),
    )
    await idle.check({})
    const busy = codeOf(foreign(started.url, `Bearer ${bearerCredential}`, '2').seen({}))
    const busyToo = failureOf(inboxAs(started, 'payments').seen({}))
    await bothEntered.promise
    const watch = startStopwatch()
    await started.server.close()
    // Not only at the deadline of the calls, after 10 s.
    expect(watch.elapsedMs()).toBeLessThan(1_500)
    expect(await busy).not.toBe('ok')
    expect((await busyToo).reason).toBe('SERVICE_UNAVAILABLE')
  })
})
