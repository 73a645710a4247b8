// Records spans with the OpenTelemetry SDK and exports them by OTLP over HTTP, never blocking what it records.
// Loaded only while traces are on.
import { hostname } from 'node:os'
import {
  type Context,
  createContextKey,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import packageJson from '../../package.json' with { type: 'json' }
import type { Logger } from './log.ts'
import { readTraceparent, type Span, type SpanStart, spanCounts, type Tracer } from './spans.ts'

const queueSpans = 4_096
const batchSpans = 512
const sendEveryMs = 1_000
/** The exporter retries for this long; then the batch is dropped and counted. */
const sendWithinMs = 5_000

/** A tracer that is closed at the end of the process. */
export interface ExportingTracer extends Tracer {
  /** Sends the recorded spans. Rejects when that fails or takes too long. */
  close(): Promise<void>
}

/** Where traces are exported, and which are recorded. */
export interface TraceSettings {
  endpoint: string
  sampler: string
  ratio: number
  environment: string
}

/**
 * Makes the tracer of this process. Connects to nothing until the first spans have ended. Spans that cannot be queued
 * or exported are dropped and counted, never thrown.
 */
export function createTracer(part: string, settings: TraceSettings, log: Logger): ExportingTracer {
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.namespace': 'payweave',
      'service.name': part,
      'service.version': packageJson.version,
      'service.instance.id': `${hostname()}-${process.pid}`,
      'deployment.environment.name': settings.environment,
    }),
    sampler: samplerOf(settings),
    spanProcessors: [boundedQueue(countedExporter(settings.endpoint, log))],
  })
  const tracer = provider.getTracer('payweave', packageJson.version)
  return {
    start({ kind, name, facts, parent, isPublicEdge }: SpanStart): Span {
      const options = { kind: kinds[kind], attributes: facts }
      return spanOf(tracer.startSpan(name, options, contextOf(parent, isPublicEdge)))
    },
    close: () => provider.shutdown(),
  }
}

const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const

function spanOf(span: ReturnType<ReturnType<TracerProvider['getTracer']>['startSpan']>): Span {
  const { traceId, spanId } = span.spanContext()
  let hasEnded = false
  return {
    traceparent: `00-${traceId}-${spanId}-${span.isRecording() ? '01' : '00'}`,
    end(facts, error) {
      if (hasEnded) return
      hasEnded = true
      if (facts !== undefined) span.setAttributes(facts)
      if (error !== undefined) {
        span.setAttribute('error.type', error)
        span.setStatus({ code: SpanStatusCode.ERROR })
      }
      span.end()
    },
  }
}

const atPublicEdge = createContextKey('at the public edge')

/** The context of a span's parent. Only the given parent counts, not the library's current context. */
function contextOf(parent: string | null | undefined, isPublicEdge: boolean | undefined): Context {
  const read = readTraceparent(parent)
  let context: Context = ROOT_CONTEXT
  if (read !== undefined) {
    const spanContext: SpanContext = { ...read, isRemote: true }
    context = trace.setSpanContext(context, spanContext)
  }
  return isPublicEdge === true ? context.setValue(atPublicEdge, true) : context
}

/** By the names of OTEL_TRACES_SAMPLER. The public edge ignores the client's flag and samples each trace anew. */
function samplerOf({ sampler, ratio }: TraceSettings): Sampler {
  const name = sampler.replace('parentbased_', '')
  const root =
    name === 'always_off'
      ? new AlwaysOffSampler()
      : name === 'traceidratio'
        ? new TraceIdRatioBasedSampler(ratio)
        : new AlwaysOnSampler()
  if (name === sampler) return root
  const inside = new ParentBasedSampler({ root })
  return {
    shouldSample(context, ...span) {
      return (context.getValue(atPublicEdge) === true ? root : inside).shouldSample(
        context,
        ...span,
      )
    },
    toString: () => inside.toString(),
  }
}

type CountedExporter = SpanExporter & { onTaken: (count: number) => void }

/** Counts exported and failed spans, and logs once when exporting begins to fail or works again. */
function countedExporter(endpoint: string, log: Logger): CountedExporter {
  const exporter = new OTLPTraceExporter({
    url: `${endpoint}/v1/traces`,
    timeoutMillis: sendWithinMs,
  })
  let isFailing = false
  const counted: CountedExporter = {
    onTaken: () => undefined,
    export(spans, done) {
      counted.onTaken(spans.length)
      exporter.export(spans, (result) => {
        const hasFailed = result.error !== undefined
        spanCounts[hasFailed ? 'export_failed' : 'exported'] += spans.length
        if (hasFailed && !isFailing) log.warn('traces not exported')
        if (!hasFailed && isFailing) log.info('traces exported again')
        isFailing = hasFailed
        done(result)
      })
    },
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  }
  return counted
}

/** Limits the spans that wait for export, and counts those that it drops. */
function boundedQueue(exporter: CountedExporter): SpanProcessor {
  const batches = new BatchSpanProcessor({
    exporter,
    maxQueueSize: queueSpans,
    maxExportBatchSize: batchSpans,
    scheduledDelayMillis: sendEveryMs,
    exportTimeoutMillis: sendWithinMs + 1_000,
  })
  let waiting = 0
  exporter.onTaken = (count) => {
    waiting -= count
  }
  return {
    onStart: () => undefined,
    onEnd(span: ReadableSpan) {
      if (waiting >= queueSpans) {
        spanCounts.queue_full += 1
        return
      }
      waiting += 1
      batches.onEnd(span)
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  }
}
