// Runs a launch in the foreground of a terminal or a pipe: progress, summary, signals, exit code.
import module from 'node:module'
import { launch } from './launch.ts'
import { LaunchError } from './preflight/launch-error.ts'
import { type NodePart, processNames, type Stores } from './process/parts.ts'
import { consoleAddress } from './secrets.ts'
import { type LaunchSettings, readLaunchSettings } from './settings.ts'
import { addresses, curlExample, partsTable, payByHand } from './start-summary.ts'

/** Our processes for the settings and the stores of a start. */
export type PartsOf = (settings: LaunchSettings, stores: Stores) => NodePart[]

/** A stop takes less than 30 s. Parts that are left then end by themselves when we have gone. */
const stopTimeoutMs = 29_000
const parentCheckMs = 500
const startedMs = performance.now()

function say(line: string): void {
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1)
  console.log(`[${seconds.padStart(5)} s] ${line}`)
}

/** Starts everything, keeps it until a signal, stops it and exits. */
export async function runInForeground(partsOf: PartsOf): Promise<never> {
  // A closed pipe (`npm start | head`) must not leave the parts without their supervisor.
  process.stdout.on('error', () => {})
  process.stderr.on('error', () => {})
  const stopping = abortedBySignal()
  try {
    await run(partsOf, stopping)
  } catch (error) {
    if (!stopping.aborted) {
      console.error(error instanceof LaunchError ? `\n${error.message}` : error)
      process.exit(1)
    }
  }
  say('stopped')
  process.exit(0)
}

/** npm and the terminal may both send the signal, so more of them change nothing. */
function abortedBySignal(): AbortSignal {
  const stopping = new AbortController()
  const stop = () => {
    if (stopping.signal.aborted) return
    say('stopping')
    stopping.abort()
    setTimeout(() => process.exit(1), stopTimeoutMs).unref()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop)
  if (process.env.npm_lifecycle_event === 'start') onParentGone(stop)
  return stopping.signal
}

/** A signal that kills npm is meant for us, and a killed npm forwards nothing. */
function onParentGone(stop: () => void): void {
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid !== parent) stop()
  }, parentCheckMs).unref()
}

async function run(partsOf: PartsOf, stopping: AbortSignal): Promise<void> {
  const settings = readLaunchSettings(process.env)
  say(`starting Payweave on ${settings.dataDir}`)
  const launched = await launch({
    settings,
    parts: (stores) => partsOf(settings, stores),
    log: say,
    stopping,
  })
  say('ready')
  // Now and not at the end, which a killed launcher does not see.
  setImmediate(module.flushCompileCache)
  const table = partsTable(launched.processes(), [...processNames, 'postgres', 'nats'])
  console.log(`\n${table}\n`)
  console.log(`${addresses(launched.sandbox, settings.dataDir, consoleAddress(settings))}\n`)
  console.log(`Make a payment request:\n\n${curlExample(launched.sandbox)}\n`)
  console.log(`${payByHand}\n`)
  console.log('Ctrl-C stops it all.')
  if (!stopping.aborted) {
    await new Promise((resolve) => stopping.addEventListener('abort', resolve, { once: true }))
  }
  await launched.stop()
}
