// Makes the report of a run for programs: one JSON document without a secret.
import type { Target } from '../../../clients/cli/api/target.ts'
import type { Result } from '../run.ts'

/** A run as it is reported. */
export type Report = {
  baseUrl: string
  startedAt: Date
  durationMs: number
  results: Result[]
}

/** How often each result came. */
export function countsOf(results: readonly Result[]): Record<Result['result'], number> {
  const of = (wanted: Result['result']) => results.filter(({ result }) => result === wanted).length
  return { passed: of('passed'), failed: of('failed'), skipped: of('skipped') }
}

/** Puts a run together. */
export function reportOf(target: Target, startedAt: Date, results: Result[]): Report {
  const durationMs = Date.now() - startedAt.getTime()
  return { baseUrl: target.baseUrl, startedAt, durationMs, results }
}

/** The report as JSON; fields as the public API names them. */
export function jsonReport({ baseUrl, startedAt, durationMs, results }: Report): string {
  const document = {
    base_url: baseUrl,
    started_time: startedAt.toISOString(),
    duration_ms: durationMs,
    ...countsOf(results),
    checks: results.map(jsonResult),
  }
  return `${JSON.stringify(document, null, 2)}\n`
}

/** One result as JSON has it. */
export function jsonResult(result: Result) {
  const { name, rule, reason, exchanges, lastAnswer } = result
  return {
    name,
    rule,
    result: result.result,
    ...(reason !== undefined && { reason }),
    duration_ms: result.durationMs,
    ...(lastAnswer !== undefined && { last_answer: lastAnswer }),
    calls: exchanges.map(({ method, path, status, requestId, durationMs }) => ({
      method,
      path,
      status,
      request_id: requestId,
      duration_ms: durationMs,
    })),
  }
}
