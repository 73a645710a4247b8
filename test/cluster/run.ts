// One run of the cluster tests, in namespaces of its own: builds the cluster, injects each fault under load, checks and reports.
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../support/eventually.ts'
import type { Fault } from './faults/fault.ts'
import { faultNamed } from './faults/table.ts'
import { buildLab, type Lab } from './lab/lab.ts'
import type { LabPrograms } from './lab/programs.ts'
import { type Api, openApi } from './load/api.ts'
import { type Load, startLoad } from './load/load.ts'
import { type Receiver, startReceiver } from './load/receiver.ts'
import { lastTry } from './load/records.ts'
import type { Options } from './options.ts'
import { countViolations } from './report/invariants.ts'
import { measure } from './report/measure.ts'
import { keepResult, lineOf, type Result } from './report/results.ts'
import { slowestPushes } from './report/slowest.ts'

type Run = Options & { programs: LabPrograms; version: string }

/** Creates that succeed before a fault is injected, so that the load flows. */
const flowingCreates = 20
/** Creates after which processes that have just started are warm. */
const warmCreates = 60
const withinMs = 120_000

function note(line: string): void {
  process.stdout.write(`${new Date().toISOString().slice(11, 19)}  ${line}\n`)
}

/** Injects one fault under load, and checks everything once the cluster is whole and at rest again. */
async function runFault(
  fault: Fault,
  lab: Lab,
  clients: { api: Api; receiver: Receiver },
  { ratePerS, observeS }: Run,
): Promise<Result> {
  note(`${fault.name}: load of ${ratePerS} creates/s`)
  await lab.healthy()
  const load = startLoad(clients.api, clients.receiver, ratePerS)
  await eventually(() => succeeded(load) >= flowingCreates, withinMs)
  note(`${fault.name}: ${fault.title}`)
  const beganMs = Date.now()
  const { facts, restore } = await fault.inject(lab)
  const overMs = Date.now()
  await sleep(observeS * 1_000)
  note(`${fault.name}: the load ends`)
  await load.stop()
  await restore?.()
  await lab.healthy()
  note(`${fault.name}: waiting until nothing is under way`)
  const counts = await countViolations(lab.databaseUrl, load.records)
  for (const line of await slowestPushes(lab.databaseUrl, load.records)) note(line)
  const detectedMs = beganMs + (fault.detectedAfterMs ?? Number.POSITIVE_INFINITY)
  const measures = measure(load.records, { beganMs, overMs, detectedMs })
  const all = { ...counts, ...fault.mustBeZero?.(measures, facts) }
  const violations = Object.fromEntries(Object.entries(all).filter(([, count]) => count !== 0))
  const date = new Date().toISOString()
  return { fault: fault.name, date, ratePerS, facts, measures, violations }
}

/** Operations of a load that have succeeded. */
function succeeded({ records }: Load): number {
  return records.operations.filter((one) => lastTry(one)).length
}

/**
 * A load that belongs to no fault: all processes have started at once on few cores, and a gateway that compiles its code misses
 * the checks of the load balancer. A cluster that is in use does not start like this.
 */
async function warmUp(lab: Lab, api: Api, receiver: Receiver, ratePerS: number): Promise<void> {
  note('the cluster warms up')
  const load = startLoad(api, receiver, ratePerS)
  await eventually(() => succeeded(load) >= warmCreates, withinMs)
  await load.stop()
  await countViolations(lab.databaseUrl, load.records)
}

async function main(): Promise<number> {
  const run = JSON.parse(process.argv[2] ?? '') as Run
  const lab = await buildLab(run.folder, run.version, run.programs, note)
  const receiver = await startReceiver(lab.network.client.address)
  const api = openApi(lab.sandbox)
  await warmUp(lab, api, receiver, run.ratePerS)
  const lines: string[] = []
  let broken = 0
  for (const name of run.faults) {
    const result = await runFault(faultNamed(name), lab, { api, receiver }, run)
    keepResult(run.results, result)
    broken += Object.keys(result.violations).length
    lines.push(lineOf(result))
    note(lineOf(result))
  }
  process.stdout.write(`\n${lines.join('\n')}\n`)
  return broken === 0 ? 0 : 1
}

// Everything that was started ends with this process.
process.exit(await main())
