// Checks a deployment against the contract and reports: the work of the command. Apart from it, so that no other command loads the checks.
import { isLoopbackHost } from '#core/text/address.ts'
import { readTarget, type Target } from '../../clients/cli/api/target.ts'
import type { CommandContext } from '../../clients/cli/command.ts'
import { printable } from '../../clients/cli/output/print.ts'
import { wholeNumber } from '../../clients/cli/parser/whole-number.ts'
import { UsageError } from '../../clients/cli/usage-error.ts'
import { byPattern, checks } from './checks.ts'
import { countsOf, jsonResult, reportOf } from './report/report.ts'
import { writeReport } from './report/report-files.ts'
import { type Result, runChecks } from './run.ts'

/** What options are when they are not given. */
type Defaults = { atOnce: string; ratePerS: string }

/** Runs the checks that were chosen; resolves to the exit code. Rejects with a UsageError. */
export async function conformance(context: CommandContext, defaults: Defaults): Promise<number> {
  const { options, flags, json, print, stopping } = context
  const chosen = byPattern(checks, options['only'])
  if (chosen.length === 0)
    throw new UsageError(`--only: no check has "${options['only']}" in its name`)
  if (flags.has('list')) {
    for (const { name, rule } of chosen) {
      print(json ? JSON.stringify({ name, rule }) : `${name}  ${rule}`)
    }
    return 0
  }
  const target = readTarget(options, context.env)
  if (target.readOnly && !flags.has('allow-production')) {
    throw new UsageError(
      'this is a production key; --allow-production reads with it and makes nothing',
    )
  }
  const atOnce = wholeNumber(options['at-once'] ?? defaults.atOnce, 'at-once', 64)
  const startedAt = new Date()
  const onResult = (result: Result) => showResult(context, result)
  const ratePerS = rateOf(options['rate'], target, defaults)
  const results = await runChecks(target, chosen, { atOnce, ratePerS, signal: stopping, onResult })
  const report = reportOf(target, startedAt, results)
  if (options['report'] !== undefined) writeReport(context, options['report'], report)
  const { passed, failed, skipped } = countsOf(results)
  const seconds = (report.durationMs / 1_000).toFixed(1)
  const all = `${passed} passed, ${failed} failed, ${skipped} skipped of ${checks.length} in ${seconds} s`
  if (json) print(JSON.stringify({ passed, failed, skipped, duration_ms: report.durationMs }))
  else print(all)
  return failed > 0 || passed === 0 ? 1 : 0
}

function rateOf(text: string | undefined, { baseUrl }: Target, { ratePerS }: Defaults): number {
  if (text === undefined) return isLoopbackHost(new URL(baseUrl).hostname) ? 0 : Number(ratePerS)
  return text === '0' ? 0 : wholeNumber(text, 'rate', 10_000)
}

/** Prints one result, of a failed check with its rule and last calls. */
export function showResult({ json, print }: CommandContext, result: Result): void {
  if (json) {
    print(JSON.stringify(jsonResult(result)))
    return
  }
  const why = result.reason === undefined ? '' : `  ${printable(result.reason)}`
  print(`${result.result.padEnd(7)}  ${result.name}${why}`)
  if (result.result === 'failed') {
    print(`         rule: ${result.rule}`)
    for (const { method, path, status, requestId } of result.exchanges.slice(-3)) {
      print(`         ${method} ${path} ${status} ${requestId}`)
    }
  }
}
