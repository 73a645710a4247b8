// The spans of a trace, named by OpenTelemetry's semantic conventions, without anything that a client or a person
// wrote.
//
// While traces are off, each function here costs one comparison. Attributes are our own values only: routes, methods,
// subjects, hosts, codes. No URL, no key, no id of a client, no text of an error.

import { randomFillSync } from 'node:crypto'
import type { Event } from '#gen/payweave/events/v1/events_pb.js'

/** Attributes of a span. */
export type Facts = Record<string, string | number>

/** A span that has not ended. */
export interface Span {
  /** Sent to the next process, whose spans then become children of this one. */
  readonly traceparent: string
  /** Ends the span. `error` is a word of ours, absent for a span that ended well. Safe to call again. */
  end(facts?: Facts, error?: string): void
}

export interface SpanStart {
  kind: 'server' | 'client' | 'producer' | 'consumer'
  name: string
  facts: Facts
  /** `traceparent` of the span above. */
  parent: string | null | undefined
  /** The parent comes from a client, which may not decide whether to record. */
  isPublicEdge?: boolean
}

/** Records spans. */
export interface Tracer {
  /** Begins a span. */
  start(span: SpanStart): Span
}

let tracer: Tracer | undefined

/** Records spans with this tracer from now on; with undefined, records none. */
export function recordSpansWith(next: Tracer | undefined): void {
  tracer = next
}

/** Outcomes of spans since the process began. */
export const spanCounts = { exported: 0, queue_full: 0, export_failed: 0 }

const probes = new Set(['/livez', '/readyz'])

/**
 * Begins the span of a request at the public edge; undefined while traces are off, and for probes. `route` is its
 * pattern, never its path, which may hold ids.
 */
export function httpServerSpan(
  method: string,
  route: string,
  parent: string | undefined,
): Span | undefined {
  if (tracer === undefined || probes.has(route)) return undefined
  const facts = { 'http.request.method': method, 'http.route': route }
  return tracer.start({
    kind: 'server',
    name: `${method} ${route}`,
    facts,
    parent,
    isPublicEdge: true,
  })
}

/** Ends the span of a request: only a status from 500 up is an error. */
export function endHttpServerSpan(span: Span | undefined, status: number): void {
  span?.end({ 'http.response.status_code': status }, status >= 500 ? String(status) : undefined)
}

/** Calls that loops make all the time and that belong to no request. */
const polls = new Set([
  'payweave.events.v1.InboxService/Seen',
  'grpc.health.v1.Health/Check',
  'grpc.health.v1.Health/Watch',
  'payweave.rpc.v1.CallService/StreamCalls',
])

/**
 * Begins the span of a call that this process answers; undefined while traces are off, and for polls. `rpc` is
 * `pkg.Service/Method`.
 */
export function rpcServerSpan(
  rpc: string,
  headers: { traceparent?: string | string[]; 'content-type'?: string },
): Span | undefined {
  if (tracer === undefined || polls.has(rpc)) return undefined
  const { traceparent } = headers
  const isGrpc = headers['content-type']?.startsWith('application/grpc') ?? false
  return tracer.start({
    kind: 'server',
    name: rpc,
    facts: { 'rpc.system.name': isGrpc ? 'grpc' : 'connectrpc', 'rpc.method': rpc },
    parent: typeof traceparent === 'string' ? traceparent : undefined,
  })
}

/** Begins the span of a call that this process makes; undefined while traces are off, and for polls. */
export function rpcClientSpan(
  method: { name: string; parent: { typeName: string } },
  { hostname, port }: URL,
  parent: string | undefined,
): Span | undefined {
  if (tracer === undefined) return undefined
  const rpc = `${method.parent.typeName}/${method.name}`
  if (polls.has(rpc)) return undefined
  return tracer.start({
    kind: 'client',
    name: rpc,
    facts: {
      'rpc.system.name': 'connectrpc',
      'rpc.method': rpc,
      'server.address': hostname,
      ...(port === '' ? {} : { 'server.port': Number(port) }),
    },
    parent,
  })
}

/** gRPC status names that mean a fault of the server. */
const serverFaults = new Set([
  'unknown',
  'deadline_exceeded',
  'unimplemented',
  'internal',
  'unavailable',
  'data_loss',
])

/**
 * Ends the span of an answered call, by its gRPC status name; only codes that mean a fault of the server are errors.
 */
export function endRpcServerSpan(span: Span | undefined, code: string): void {
  span?.end({ 'rpc.response.status_code': code }, serverFaults.has(code) ? code : undefined)
}

/** Ends the span of a call that was made, by its gRPC status name; every code but `ok` is an error. */
export function endRpcClientSpan(span: Span | undefined, code: string): void {
  span?.end({ 'rpc.response.status_code': code }, code === 'ok' ? undefined : code)
}

/** Begins the span of one publication of an event; undefined while traces are off. */
export function publishSpan(
  subject: string,
  eventId: string,
  parent: string | null,
): Span | undefined {
  if (tracer === undefined) return undefined
  const facts = messageFacts('publish', 'send', subject, eventId)
  return tracer.start({ kind: 'producer', name: `publish ${subject}`, facts, parent })
}

/** The processing of events by a consumer. */
export interface ProcessSpans {
  /** The events to pass to the handler, with traceparents by which its own events become children of these spans. */
  events: Event[]
  /** Ends all spans; `error` is a word of ours, absent for success. */
  end(error?: string): void
}

/** Begins one span for each event, though they are processed together; undefined while traces are off. */
export function processSpans(consumer: string, events: Event[]): ProcessSpans | undefined {
  const recorder = tracer
  if (recorder === undefined) return undefined
  const spans = events.map(({ subject, eventId, traceparent }) =>
    recorder.start({
      kind: 'consumer',
      name: `process ${subject}`,
      facts: {
        ...messageFacts('process', 'process', subject, eventId),
        'messaging.consumer.group.name': consumer,
      },
      parent: traceparent,
    }),
  )
  return {
    events: events.map((event, index) => {
      const { traceparent = event.traceparent } = spans[index] ?? {}
      return { ...event, traceparent }
    }),
    end(error) {
      for (const span of spans) span.end({}, error)
    },
  }
}

function messageFacts(name: string, type: string, subject: string, eventId: string): Facts {
  return {
    'messaging.system': 'nats',
    'messaging.destination.name': subject,
    'messaging.operation.name': name,
    'messaging.operation.type': type,
    'messaging.message.id': eventId,
  }
}

/**
 * The traceparent that later work on an event belongs to; null when its trace is not recorded, so that nothing is
 * stored.
 */
export function recordedTrace({ traceparent }: Pick<Event, 'traceparent'>): string | null {
  return tracer !== undefined && traceparent.endsWith('-01') ? traceparent : null
}

/**
 * Begins the span of one POST to a receiver, of which only the host is recorded; undefined when the trace is not
 * recorded.
 */
export function pushSpan(
  { hostname, number }: { hostname: string; number: number },
  parent: string | null,
): Span | undefined {
  // No span without a recorded trace: a push never begins one.
  if (tracer === undefined || parent === null) return undefined
  const facts = {
    'http.request.method': 'POST',
    'server.address': hostname,
    ...(number > 1 && { 'http.request.resend_count': number - 1 }),
  }
  return tracer.start({ kind: 'client', name: 'POST', facts, parent })
}

/** Ends the span of a POST; every outcome but `delivered` is an error. */
export function endPushSpan(
  span: Span | undefined,
  end: { outcome: string; status?: number; error?: string },
): void {
  if (span === undefined) return
  const facts: Facts = {}
  if (end.status !== undefined) facts['http.response.status_code'] = end.status
  if (end.outcome === 'delivered') span.end(facts)
  else span.end(facts, end.status === undefined ? (end.error ?? end.outcome) : String(end.status))
}

const traceparentPattern = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/
const zeroTrace = '0'.repeat(32)
const zeroSpan = '0'.repeat(16)

// Random bytes are drawn 4 KiB at a time: one draw per identifier costs more than the rest of the work.
const pool = Buffer.alloc(4096)
let poolOffset = pool.length

function randomHex(bytes: number): string {
  if (poolOffset + bytes > pool.length) {
    randomFillSync(pool)
    poolOffset = 0
  }
  const text = pool.toString('hex', poolOffset, poolOffset + bytes)
  poolOffset += bytes
  return text
}

/** A new sampled trace with its first span, as a W3C `traceparent`. */
export function newTraceparent(): string {
  return `00-${randomHex(16)}-${randomHex(8)}-01`
}

/** A span below `parent`, in the same trace; a new trace when `parent` is absent or malformed. */
export function childTraceparent(parent: string | null | undefined): string {
  if (parent === null || parent === undefined) return newTraceparent()
  const match = traceparentPattern.exec(parent)
  if (match === null || match[1] === zeroTrace || match[2] === zeroSpan) return newTraceparent()
  return `00-${match[1]}-${randomHex(8)}-${match[3]}`
}

/** The parts of a `traceparent`, ids in hex; undefined when it is absent or malformed. */
export function readTraceparent(
  text: string | null | undefined,
): { traceId: string; spanId: string; traceFlags: number } | undefined {
  const [, traceId = zeroTrace, spanId = zeroSpan, flags = ''] =
    traceparentPattern.exec(text ?? '') ?? []
  if (traceId === zeroTrace || spanId === zeroSpan) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 }
}
