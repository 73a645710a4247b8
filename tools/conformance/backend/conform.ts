// Checks a back end against `payweave.backend.v1` and reports: the work of the command. Apart from it, so that no other command
// loads the checks.
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import type { CommandContext } from '../../../clients/cli/command.ts'
import { wholeNumber } from '../../../clients/cli/parser/whole-number.ts'
import { UsageError } from '../../../clients/cli/usage-error.ts'
import { byPattern } from '../checks.ts'
import { showResult } from '../conform.ts'
import { countsOf } from '../report/report.ts'
import { writeReport } from '../report/report-files.ts'
import { backendChecks } from './checks.ts'
import { readOutcomeMap } from './outcome-map.ts'
import { type BackendTarget, runBackendChecks } from './run.ts'

const processes = ['payments', 'accounts', 'institution', 'quotes', 'billing']

/** What options are when they are not given. */
type Defaults = Record<
  | 'host'
  | 'audience'
  | 'pages'
  | 'at-once'
  | 'payments-port'
  | 'accounts-port'
  | 'institution-port',
  string
>

/** Runs the checks that were chosen; resolves to the exit code. Rejects with a UsageError. */
export async function conformBackend(context: CommandContext, defaults: Defaults): Promise<number> {
  const { options, flags, json, print, stopping } = context
  const chosen = byPattern(backendChecks, options['only'])
  if (chosen.length === 0)
    throw new UsageError(`--only: no check has "${options['only']}" in its name`)
  if (flags.has('list')) {
    for (const { name, rule } of chosen)
      print(json ? JSON.stringify({ name, rule }) : `${name}  ${rule}`)
    return 0
  }
  const { audience = defaults.audience } = options
  const secrets = required(options, 'secrets')
  if (flags.has('prepare')) {
    writeIdentities(secrets, [...processes, audience])
    print(
      json
        ? JSON.stringify({ secrets })
        : `keys of ${[...processes, audience].join(', ')}: ${secrets}`,
    )
    return 0
  }
  const target = targetOf(options, secrets, audience, defaults)
  const atOnce = wholeNumber(options['at-once'] ?? defaults['at-once'], 'at-once', 64)
  const startedAt = new Date()
  const results = await runBackendChecks(target, chosen, {
    atOnce,
    signal: stopping,
    onResult: (result) => showResult(context, result),
  })
  const durationMs = Date.now() - startedAt.getTime()
  const report = { baseUrl: target.url, startedAt, durationMs, results }
  if (options['report'] !== undefined) writeReport(context, options['report'], report)
  const { passed, failed, skipped } = countsOf(results)
  const seconds = (durationMs / 1_000).toFixed(1)
  if (json) print(JSON.stringify({ passed, failed, skipped, duration_ms: durationMs }))
  else
    print(
      `${passed} passed, ${failed} failed, ${skipped} skipped of ${chosen.length} in ${seconds} s`,
    )
  return failed > 0 || passed === 0 ? 1 : 0
}

type Options = CommandContext['options']

function targetOf(
  options: Options,
  secrets: string,
  audience: string,
  defaults: Defaults,
): BackendTarget {
  const url = required(options, 'url')
  if (!URL.canParse(url) || new URL(url).protocol !== 'http:')
    throw new UsageError('--url must be an http URL: run the back end under test with RPC_TLS=off')
  const portOf = (name: 'payments-port' | 'accounts-port' | 'institution-port') =>
    wholeNumber(options[name] ?? defaults[name], name, 65_535)
  const executionsUrl = options['executions']
  if (executionsUrl !== undefined && !/\{kind\}.*\{id\}/.test(executionsUrl))
    throw new UsageError('--executions must name {kind} and {id}')
  const formsUrl = options['forms']
  if (formsUrl !== undefined && !URL.canParse(formsUrl))
    throw new UsageError('--forms must be a URL')
  return {
    url,
    audience,
    secrets,
    formsUrl,
    map: readOutcomeMap(required(options, 'map')),
    host: options['host'] ?? defaults.host,
    ports: {
      payments: portOf('payments-port'),
      accounts: portOf('accounts-port'),
      institution: portOf('institution-port'),
    },
    pagesOrigin: options['pages'] ?? defaults.pages,
    executionsUrl,
  }
}

function required(options: Options, name: string): string {
  const value = options[name]
  if (value === undefined) throw new UsageError(`--${name} is required`)
  return value
}
