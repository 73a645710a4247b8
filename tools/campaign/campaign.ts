// Runs a campaign: the load flows while one step of faults follows the other, and in the end everything is checked.
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { eventually } from '../../test/support/eventually.ts'
import { checkAnswers, type Window } from './check/answers.ts'
import { checkPromisedBalances, readBack, readBalances } from './check/api.ts'
import { carriedOut, type Finding, merged } from './check/finding.ts'
import {
  checkEffects,
  checkPushes,
  checkReceived,
  effectsRecoveredS,
  lateOf,
} from './check/pushes.ts'
import { checkRecovery, recoveriesOf } from './check/recovery.ts'
import { checkBalances, checkTables, settle } from './check/tables.ts'
import type { Fault } from './faults/fault.ts'
import { type Load, startLoad } from './load/load.ts'
import type { Kind, Records } from './load/records.ts'
import { stepsOf } from './schedule.ts'
import { type Slack, watchSlack } from './slack.ts'
import { watchStandstills } from './standstill.ts'
import { type Done, effectsWithinS, runStep } from './step.ts'
import type { System } from './system/system.ts'

/** What a campaign does. */
export type Plan = {
  seed: number
  /** For how long steps are begun; at least one is. */
  minutes: number
  ratePerS: number
  /** Without any the load flows for the minutes. */
  rows: readonly Fault[]
  /** Kinds of operations; all if not given. */
  only?: readonly Kind[]
  /** Multiplies the limits of recovery, beside the slack that is measured; 1 if not given. */
  slack?: number
  /** The number of the first step: a step that found something is repeated without those before it. */
  firstStep?: number
  /** How long the last operations and what they led to may take, in seconds; 240 if not given. */
  patienceS?: number
  /** Ends at the first case against this rule. */
  endsAt?: string
}

/** Result of a campaign. */
export type Outcome = {
  seed: number
  ratePerS: number
  beganMs: number
  endedMs: number
  steps: Done[]
  /** Times in which this machine stood still. */
  standstills: Window[]
  /** By what limits were multiplied over the whole time. */
  slack: number
  records: Records
  findings: Finding[]
}

const defaultPatienceS = 240
/** The receiver notes a push before the product has recorded its answer, or just after. */
const pushesWithinMs = 10_000
const lookEveryMs = 200
/** Requests may fail at any time. */
const always: Window = { beganMs: 0, overMs: Infinity, limitS: 1 }

/** Runs it on a system, which has to be new. What goes wrong meanwhile is a finding: there always is an outcome. */
export async function runCampaign(
  system: System,
  plan: Plan,
  say: (line: string) => void,
): Promise<Outcome> {
  const { seed, ratePerS, slack: factor = 1 } = plan
  const beganMs = Date.now()
  const slack = watchSlack(factor)
  const standstills = watchStandstills(factor)
  const records: Records = { operations: [], pushes: system.receivers.pushes }
  const steps: Done[] = []
  const findings: Finding[] = []
  let before: Record<string, number> = {}
  findings.push(
    ...(await carriedOut('the balances at the begin', async () => {
      before = await readBalances(system.api)
      return []
    })),
  )
  const run = { system, plan, records, before, steps, slack, say }
  if (findings.length === 0)
    findings.push(...(await underLoad(run, () => [...steps, ...standstills.windows])))
  const endedMs = Date.now()
  const whole = slack.between(beganMs, endedMs)
  standstills.stop()
  slack.stop()
  return {
    seed,
    ratePerS,
    beganMs,
    endedMs,
    steps,
    standstills: standstills.windows,
    slack: whole,
    records,
    findings: merged(findings),
  }
}

/** A campaign that runs. */
type Run = {
  system: System
  plan: Plan
  records: Records
  before: Record<string, number>
  steps: Done[]
  slack: Slack
  say: (line: string) => void
}

/** Breaks the system under load, ends the load and checks everything. */
async function underLoad(run: Run, windows: () => Window[]): Promise<Finding[]> {
  const { system, plan, records, steps, say } = run
  const { seed, ratePerS, only, patienceS = defaultPatienceS, endsAt } = plan
  const load = startLoad(system.api, system.receivers, {
    ratePerS,
    seed,
    records,
    ...(only && { only }),
  })
  const findings: Finding[] = []
  const isOver = (found: readonly Finding[]) => found.some(({ rule }) => rule === endsAt)
  const soFar = () => [...checkAnswers(records, [always]), ...checkReceived(records)]
  const isShown = () => endsAt !== undefined && isOver(soFar())
  findings.push(...(await carriedOut('the faults', () => breakIt(run, load, isShown))))
  say(`${count(steps)} faults; waiting for ${load.underWay()} operations`)
  const stopped = load.stop(patienceS)
  await Promise.race([stopped, until(isShown)])
  const endedMs = Date.now()
  for (const [index, step] of steps.entries())
    step.recoveries = recoveriesOf(records, step, steps[index + 1]?.beganMs ?? endedMs)
  say(`${records.operations.length} operations; checking`)
  if (isOver(findings)) return findings
  if (isShown()) return [...findings, ...soFar()]
  await stopped
  for await (const found of checksOf(run, windows)) {
    findings.push(...found)
    if (isOver(findings)) break
  }
  // All that began before the last step is over by now, or found.
  const last = steps.at(-1)
  if (last !== undefined) last.effectsS ??= effectsRecoveredS(records, last)
  return findings
}

/** Injects the faults one step after the other, for the minutes of the plan, or until a case is shown. */
async function breakIt(run: Run, load: Load, isShown: () => boolean): Promise<Finding[]> {
  const { rows, seed, minutes, firstStep = 1 } = run.plan
  const untilMs = Date.now() + minutes * 60_000
  const isOver = () => Date.now() > untilMs || isShown()
  if (rows.length === 0) {
    await until(isOver)
    return []
  }
  const findings: Finding[] = []
  for (const step of stepsOf(rows, seed)) {
    if (step.number < firstStep) continue
    if (run.steps.length > 0 && isOver()) break
    const { found, worksAgain } = await runStep({ ...run, load, isShown }, step)
    findings.push(...found)
    if (!worksAgain) break
  }
  return findings
}

async function until(isOver: () => boolean): Promise<void> {
  while (!isOver()) await sleep(lookEveryMs)
}

/** The findings of one check after the other, from when the load has ended. */
async function* checksOf(run: Run, windows: () => Window[]): AsyncGenerator<Finding[]> {
  const { system, plan, records, before, steps, slack } = run
  const { api, mesh } = system
  const { patienceS = defaultPatienceS } = plan
  yield await carriedOut('the check of the tables', () =>
    checkStores(mesh.databaseUrl(), records, patienceS),
  )
  yield checkAnswers(records, windows())
  yield checkRecovery(steps)
  yield checkPushes(records)
  yield checkEffects(records, windows(), effectsWithinS, slack.between)
  yield await carriedOut('the check of the balances', () =>
    checkPromisedBalances(api, records, before),
  )
  yield await carriedOut('the reading back', () => readBack(system, records))
  yield await carriedOut('the check of the ledger', () => checkBalances(mesh.databaseUrl()))
}

/** Waits until the tables are at rest and checks them. */
async function checkStores(url: string, records: Records, patienceS: number): Promise<Finding[]> {
  const client = new Client({ connectionString: url })
  // It is reported by the query that it breaks.
  client.on('error', () => undefined)
  await client.connect()
  try {
    const waiting = await settle(client, patienceS * 1_000)
    await eventually(() => lateOf(records).length === 0, pushesWithinMs).catch(() => undefined)
    return [...waiting, ...(await checkTables(client, records))]
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Faults that were injected. */
export function count(steps: readonly Done[]): number {
  return steps.reduce((sum, { faults }) => sum + faults.length, 0)
}
