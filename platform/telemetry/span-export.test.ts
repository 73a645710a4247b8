// Tests which spans reach a collector, their attributes, and what happens when it is down.
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { startTraceReceiver } from '../../test/support/trace-receiver.ts'
import { createLogger } from './log.ts'
import {
  endPushSpan,
  endRpcServerSpan,
  httpServerSpan,
  pushSpan,
  rpcClientSpan,
  rpcServerSpan,
  spanCounts,
} from './spans.ts'
import { startTracing } from './tracing.ts'

const log = createLogger({ part: 'test', level: 'fatal' })
const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

const stranger = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331'
const method = { name: 'GetPayment', parent: { typeName: 'payweave.payments.v1.PaymentsService' } }
const rpc = 'payweave.payments.v1.PaymentsService/GetPayment'
const url = new URL('http://127.0.0.1:7101')

async function collector() {
  const receiver = await startTraceReceiver()
  closers.push(receiver.close)
  return receiver
}

/** A server in place of a collector. */
async function listen(answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Traces what `work` does, to its last span. */
async function traced(env: Record<string, string | undefined>, work: () => void | Promise<void>) {
  const tracing = await startTracing('gateway', env, log)
  await work()
  await tracing?.close()
}

describe('with a collector', () => {
  it('with a collector, a span hangs below the one that called it, in another process too', async () => {
    const { url: endpoint, spans } = await collector()
    await traced({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }, () => {
      const edge = httpServerSpan('GET', '/payments/status', undefined)
      const call = rpcClientSpan(method, url, edge?.traceparent)
      const served = rpcServerSpan(rpc, { traceparent: call?.traceparent ?? '' })
      endRpcServerSpan(served, 'not_found')
      call?.end()
      edge?.end()
    })
    const [served, call, edge] = spans
    expect(spans.map(({ traceId }) => traceId)).toEqual(spans.map(() => edge?.traceId))
    expect([served?.parentSpanId, call?.parentSpanId, edge?.parentSpanId]).toEqual([
      call?.spanId,
      edge?.spanId,
      '',
    ])
    expect(edge).toMatchObject({
      name: 'GET /payments/status',
      kind: 'server',
      attributes: { 'http.request.method': 'GET', 'http.route': '/payments/status' },
      resource: { 'service.namespace': 'payweave', 'service.name': 'gateway' },
    })
    expect(served).toMatchObject({
      isError: false,
      attributes: { 'rpc.method': rpc, 'rpc.response.status_code': 'not_found' },
    })
    expect(call).toMatchObject({
      attributes: { 'server.address': '127.0.0.1', 'server.port': 7101 },
    })
  })

  it('with a collector, an answer that is our fault is an error, by its code and without a text', async () => {
    const { url: endpoint, spans } = await collector()
    await traced({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }, () => {
      endRpcServerSpan(rpcServerSpan(rpc, {}), 'internal')
      const push = pushSpan({ hostname: 'shop.example', number: 3 }, `${stranger}-01`)
      endPushSpan(push, { outcome: 'connection_failed', error: 'econnrefused' })
    })
    expect(spans).toMatchObject([
      { isError: true, attributes: { 'error.type': 'internal' } },
      {
        isError: true,
        parentSpanId: 'b7ad6b7169203331',
        attributes: {
          'error.type': 'econnrefused',
          'server.address': 'shop.example',
          'http.request.resend_count': 2,
        },
      },
    ])
    expect(spans.flatMap(({ extra }) => extra)).toEqual([])
  })

  it('with a collector, the flag of the caller decides inside, and the sampler at the public edge', async () => {
    const { url: endpoint, spans } = await collector()
    const off = {
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0',
    }
    await traced(off, () => {
      const asked = httpServerSpan('GET', '/quote', `${stranger}-01`)
      expect(asked?.traceparent).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-.*-00$/)
      asked?.end()
      rpcServerSpan('of/Nobody', { traceparent: `${stranger}-00` })?.end()
      rpcServerSpan('of/Somebody', { traceparent: `${stranger}-01` })?.end()
    })
    expect(spans.map(({ name }) => name)).toEqual(['of/Somebody'])
  })

  it('with a collector, probes and polls are no traces', async () => {
    const { url: endpoint } = await collector()
    await traced({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }, () => {
      expect(httpServerSpan('GET', '/readyz', undefined)).toBeUndefined()
      expect(rpcServerSpan('payweave.events.v1.InboxService/Seen', {})).toBeUndefined()
      expect(rpcServerSpan('grpc.health.v1.Health/Check', {})).toBeUndefined()
    })
  })
})

describe('without a collector', () => {
  it('without a collector that takes them, spans are dropped and counted', async () => {
    const refusing = await listen((_, response) => response.writeHead(400).end())
    const before = spanCounts.export_failed
    const ended = traced({ OTEL_EXPORTER_OTLP_ENDPOINT: refusing }, () =>
      rpcServerSpan(rpc, {})?.end(),
    )
    await expect(ended).rejects.toThrow(/Bad Request/)
    expect(spanCounts.export_failed - before).toBe(1)
  })

  it('without a collector, nothing is recorded while none is set, and no sooner than settings are good', async () => {
    for (const env of [
      {},
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'x' },
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x', OTEL_TRACES_SAMPLER: 'y' },
    ]) {
      await traced(env, () => expect(rpcServerSpan(rpc, {})).toBeUndefined())
    }
  })

  it('without a collector that answers, spans beyond the queue are dropped and counted, and the stop does not wait for it', async () => {
    const silent = await listen(() => undefined)
    const before = { ...spanCounts }
    const tracing = await startTracing('test', { OTEL_EXPORTER_OTLP_ENDPOINT: silent }, log)
    for (let count = 0; count < 6_000; count += 1) rpcServerSpan(rpc, {})?.end()
    // One batch is on its way; 4,096 wait behind it.
    expect(spanCounts.queue_full - before.queue_full).toBe(6_000 - 512 - 4_096)
    void tracing?.close().catch(() => undefined)
    expect(rpcServerSpan(rpc, {})).toBeUndefined()
  })
})
