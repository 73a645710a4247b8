// Enables the recording of traces when a setting asks for it; otherwise loads nothing.

import { ratio, sampler } from '../config/values.ts'
import type { Logger } from './log.ts'
import type { TraceSettings } from './span-export.ts'
import { recordSpansWith } from './spans.ts'

type Env = Readonly<Record<string, string | undefined>>

/**
 * Starts to record when OTEL_EXPORTER_OTLP_ENDPOINT is set; resolves to undefined otherwise. Bad settings record
 * nothing here, and are reported with all others when the process reads its settings. `close` rejects when the last
 * spans cannot be sent.
 */
export async function startTracing(
  part: string,
  env: Env,
  log: Logger,
): Promise<{ close(): Promise<void> } | undefined> {
  const settings = traceSettings(env)
  if (settings === undefined) return undefined
  const { createTracer } = await import('./span-export.ts')
  const tracer = createTracer(part, settings, log)
  recordSpansWith(tracer)
  return {
    async close() {
      recordSpansWith(undefined)
      await tracer.close()
    },
  }
}

function traceSettings(env: Env): TraceSettings | undefined {
  const endpoint = env['OTEL_EXPORTER_OTLP_ENDPOINT'] || undefined
  if (endpoint === undefined || !URL.canParse(endpoint)) return undefined
  try {
    return {
      endpoint: endpoint.replace(/\/$/, ''),
      sampler: sampler.read(env['OTEL_TRACES_SAMPLER'] || 'parentbased_always_on'),
      ratio: ratio.read(env['OTEL_TRACES_SAMPLER_ARG'] || '1'),
      environment: env['PAYWEAVE_ENV'] || 'local',
    }
  } catch {
    return undefined
  }
}
