// The command that checks a deployment against the contract and reports.
import { keyOptions, readTarget, type Target, targetOptions } from '../../clients/cli/api/target.ts'
import type { Command, CommandContext } from '../../clients/cli/command.ts'
import { printable } from '../../clients/cli/output/print.ts'
import { wholeNumber } from '../../clients/cli/parser/whole-number.ts'
import { UsageError } from '../../clients/cli/usage-error.ts'
import { byPattern, checks } from './checks.ts'
import { countsOf, jsonResult, reportOf } from './report.ts'
import { writeReport } from './report-files.ts'
import { isLoopback, type Result, runChecks } from './run.ts'

const defaultAtOnce = '12'
/** Below the limit of a hosted sandbox, so that a run is not in its own way. */
const defaultRatePerS = '20'

/** `conformance`. */
export const conformanceCommand: Command = {
  name: 'conformance',
  operands: '',
  summary:
    'Checks a deployment against the contract, rule by rule; ends with 1 when one is not kept.',
  options: {
    ...targetOptions,
    ...keyOptions,
    report: 'folder for conformance.html and conformance.json; made if it is missing',
    only: 'checks whose name holds this; a star stands for anything',
    'at-once': `how many checks run side by side (${defaultAtOnce})`,
    rate: `most calls a second (${defaultRatePerS}; 0, no limit, on this machine)`,
  },
  flags: {
    list: 'names the checks and their rules, and runs none',
    'allow-production': 'read with a production key; nothing is made there',
  },
  run: conformance,
}

async function conformance(context: CommandContext): Promise<number> {
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
  const atOnce = wholeNumber(options['at-once'] ?? defaultAtOnce, 'at-once', 64)
  const startedAt = new Date()
  const onResult = (result: Result) => showResult(context, result)
  const ratePerS = rateOf(options['rate'], target)
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

function rateOf(text: string | undefined, { baseUrl }: Target): number {
  if (text === undefined) return isLoopback(baseUrl) ? 0 : Number(defaultRatePerS)
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
