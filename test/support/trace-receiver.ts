// A small OTLP collector over HTTP: takes spans as JSON and keeps what they say. It must not know which spans there should be.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A span as it arrived, with its attributes as plain values and the process that it is of. */
export type ReceivedSpan = {
  part: string
  traceId: string
  spanId: string
  parentSpanId: string
  name: string
  kind: 'server' | 'client' | 'producer' | 'consumer' | 'internal'
  attributes: Record<string, unknown>
  resource: Record<string, unknown>
  isError: boolean
  /** All other content of a span, which ours must not have: a status message, events, links. */
  extra: unknown[]
}

export type TraceReceiver = {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  url: string
  spans: ReceivedSpan[]
  close(): Promise<void>
}

type Value = Record<string, unknown>
type Attribute = { key: string; value: Value }
type Body = {
  resourceSpans: {
    resource: { attributes: Attribute[] }
    scopeSpans: { spans: Span[] }[]
  }[]
}
type Span = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  attributes: Attribute[]
  status: { code: number; message?: string }
  events?: unknown[]
  links?: unknown[]
}

const kinds = ['internal', 'internal', 'server', 'client', 'producer', 'consumer'] as const

/** Listens on a free port. `onSpan` hears of each span; times are left out, since they say nothing of a request. */
export async function startTraceReceiver(
  onSpan: (span: ReceivedSpan) => void = () => undefined,
): Promise<TraceReceiver> {
  const spans: ReceivedSpan[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => void chunks.push(chunk))
    request.once('end', () => {
      for (const span of read(JSON.parse(Buffer.concat(chunks).toString()) as Body)) {
        spans.push(span)
        onSpan(span)
      }
      response.setHeader('content-type', 'application/json')
      response.statusCode = request.url === '/v1/traces' ? 200 : 404
      response.end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function read({ resourceSpans }: Body): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource: { attributes }, scopeSpans }) => {
    const resource = plain(attributes)
    return scopeSpans.flatMap(({ spans }) => spans.map((span) => received(span, resource)))
  })
}

function received(span: Span, resource: Record<string, unknown>): ReceivedSpan {
  const { events = [], links = [], status } = span
  return {
    part: String(resource['service.name']),
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId ?? '',
    name: span.name,
    kind: kinds[span.kind] ?? 'internal',
    attributes: plain(span.attributes),
    resource,
    isError: status.code === 2,
    extra: [...(status.message === undefined ? [] : [status.message]), ...events, ...links],
  }
}

function plain(attributes: Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}
