// One request as a collector of traces sees it, from the edge to the push.
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import type { ReceivedSpan } from '../../support/trace-receiver.ts'
import { merchant, order, receiver, sharedMesh } from '../harness.ts'

const mesh = sharedMesh()
const shop = merchant(mesh)
const traceId = randomBytes(16).toString('hex')
const clientSpan = randomBytes(8).toString('hex')

/** All spans of the trace that have arrived. */
function arrived(): ReceivedSpan[] {
  return fs
    .readFileSync(path.join(mesh.dataDir, 'logs', 'traces.log'), 'utf8')
    .split('\n')
    .filter((line) => line.includes(traceId))
    .map((line) => JSON.parse(line) as ReceivedSpan)
}

/** What is exported last by the two parts at the ends. Each part exports by itself: a parent may come after its children. */
const ends = ['delivery client POST', 'gateway server POST /payments/request']

const titleOf = ({ part, kind, name }: ReceivedSpan) => `${part} ${kind} ${name}`

describe('the trace of a payment request', () => {
  let spans: ReceivedSpan[]
  let inbox: ReturnType<typeof receiver>

  beforeAll(async () => {
    inbox = receiver(mesh)
    await shop.call('POST', '/payments/request', {
      // The client asks that nothing be recorded; that is for us to say.
      headers: { traceparent: `00-${traceId}-${clientSpan}-00` },
      body: {
        api_key: shop.apiKey,
        transaction_request: order({ urls: { notify: inbox.urls.notify } }),
      },
    })
    const isWhole = (now: ReceivedSpan[]) => {
      const titles = new Set(now.map(titleOf))
      for (const end of ends) if (!titles.has(end)) throw new Error(`no span yet: ${end}`)
      for (const orphan of orphans(now)) throw new Error(`no parent yet: ${orphan}`)
    }
    spans = await eventually(arrived, isWhole, 40_000)
  })

  function orphans(all: ReceivedSpan[]): string[] {
    const known = new Set([clientSpan, ...all.map(({ spanId }) => spanId)])
    return all.filter(({ parentSpanId }) => !known.has(parentSpanId)).map(titleOf)
  }

  /** From a span up to the one below the client's. */
  function pathTo(last: string): string[] {
    const path: string[] = []
    let span = spans.find((one) => titleOf(one) === last)
    while (span !== undefined) {
      path.unshift(titleOf(span))
      const { parentSpanId } = span
      if (parentSpanId === clientSpan) return path
      span = spans.find(({ spanId }) => spanId === parentSpanId)
    }
    return ['an orphan', ...path]
  }

  it('the trace of a payment request leads from the client through every part to the push', () => {
    expect(pathTo('delivery client POST')).toEqual([
      'gateway server POST /payments/request',
      'gateway client payweave.payments.v1.PaymentsService/CreatePayment',
      'payments server payweave.payments.v1.PaymentsService/CreatePayment',
      'payments producer publish pw.payments.event',
      'delivery consumer process pw.payments.event',
      'delivery client POST',
    ])
  })

  it('the trace of a payment request has no span whose parent is missing', () => {
    expect(orphans(spans)).toEqual([])
  })

  it('the trace of a payment request says of the push its host and status, and no path', () => {
    const push = spans.find((span) => titleOf(span) === 'delivery client POST')
    expect(push?.attributes).toEqual({
      'http.request.method': 'POST',
      'http.response.status_code': 200,
      'server.address': '127.0.0.1',
    })
  })

  it('the trace of a payment request holds in no span a text that the client or an error wrote', () => {
    expect(spans.flatMap(({ extra }) => extra)).toEqual([])
    const text = JSON.stringify(spans)
    for (const secret of [shop.apiKey, shop.subscriptionKey, inbox.urls.notify]) {
      expect(text).not.toContain(secret)
    }
  })
})
