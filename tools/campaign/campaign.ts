// Runs a campaign: the load flows while one step of faults follows the other, and in the end everything is checked.
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { eventually } from '../../test/support/eventually.ts'
import { answersRecoveredS, checkAnswers, type Window } from './check/answers.ts'
import { checkPromisedBalances, readBack, readBalances } from './check/api.ts'
import type { Finding } from './check/finding.ts'
import {
  checkEffects,
  checkPushes,
  checkReceived,
  effectsRecoveredS,
  lateOf,
} from './check/pushes.ts'
import { checkBalances, checkTables, settle } from './check/tables.ts'
import type { Fault } from './faults/fault.ts'
import { type Load, startLoad } from './load/load.ts'
import type { Kind, Records } from './load/records.ts'
import { type Step, stepsOf } from './schedule.ts'
import { watchStandstills } from './standstill.ts'
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
  /** Multiplies the limits of recovery, for a machine that others use too; 1 if not given. */
  slack?: number
  /** The number of the first step: a step that found something is repeated without those before it. */
  firstStep?: number
  /** How long the last operations and what they led to may take, in seconds; 240 if not given. */
  patienceS?: number
  /** Ends at the first case against this rule. */
  endsAt?: string
}

/** A step that is over. */
export type Done = Window & {
  number: number
  faults: { name: string; title: string }[]
  /** Seconds after the end of the faults: until requests succeed, and until all that began before is answered and pushed. */
  answersS: number
  effectsS: number
}

/** What came of a campaign. */
export type Outcome = {
  seed: number
  ratePerS: number
  slack: number
  beganMs: number
  endedMs: number
  steps: Done[]
  /** Times in which this machine stood still. */
  standstills: Window[]
  records: Records
  findings: Finding[]
}

/** Outcomes between two steps, so that each fault meets a load that flows. */
const betweenSteps = 8
const flowsWithinMs = 120_000
/** Leases take 60 s, and an event is published again after 60 s at most. */
const effectsWithinS = 130
const defaultPatienceS = 240
/** The receiver notes a push before the product has recorded its answer, or just after. */
const pushesWithinMs = 10_000
const lookEveryMs = 200
/** Requests may fail at any time. */
const always: Window = { beganMs: 0, overMs: Infinity, limitS: 0 }

/** Runs it on a system, which has to be new. */
export async function runCampaign(
  system: System,
  plan: Plan,
  say: (line: string) => void,
): Promise<Outcome> {
  const { api } = system
  const { seed, ratePerS, only, slack = 1, patienceS = defaultPatienceS, endsAt } = plan
  const before = await readBalances(api)
  const load = startLoad(api, system.receivers, { ratePerS, seed, ...(only && { only }) })
  const { records } = load
  const beganMs = Date.now()
  const steps: Done[] = []
  const standstills = watchStandstills(slack)
  const findings: Finding[] = []
  const isOver = (found: readonly Finding[]) => found.some(({ rule }) => rule === endsAt)
  const isShown = () =>
    endsAt !== undefined && isOver([...checkAnswers(records, [always]), ...checkReceived(records)])
  findings.push(...(await breakIt(system, load, plan, { steps, isShown }, say)))
  say(`${count(steps)} faults; waiting for ${load.underWay()} operations`)
  const stopped = load.stop(patienceS)
  await Promise.race([stopped, until(isShown)])
  const endedMs = Date.now()
  say(`${records.operations.length} operations; checking`)
  const windows = () => [...steps, ...standstills.windows]
  if (isShown()) {
    findings.push(...checkAnswers(records, [always]), ...checkReceived(records))
  } else {
    await stopped
    for await (const found of checksOf(system, records, { plan, before, windows })) {
      findings.push(...found)
      if (isOver(findings)) break
    }
  }
  standstills.stop()
  for (const [index, step] of steps.entries()) {
    step.answersS = answersRecoveredS(records, step, steps[index + 1]?.beganMs ?? endedMs)
    step.effectsS = effectsRecoveredS(records, step)
  }
  const still = standstills.windows
  return { seed, ratePerS, slack, beganMs, endedMs, steps, standstills: still, records, findings }
}

/** Injects the faults one step after the other, for the minutes of the plan, or until a case is shown. */
async function breakIt(
  system: System,
  load: Load,
  { rows, seed, minutes, firstStep = 1, slack = 1 }: Plan,
  { steps, isShown }: { steps: Done[]; isShown: () => boolean },
  say: (line: string) => void,
): Promise<Finding[]> {
  const untilMs = Date.now() + minutes * 60_000
  const isOver = () => Date.now() > untilMs || isShown()
  if (rows.length === 0) {
    await until(isOver)
    return []
  }
  for (const step of stepsOf(rows, seed)) {
    if (step.number < firstStep) continue
    if (steps.length > 0 && isOver()) break
    const stuck = await runStep(system, load, { ...step, limitS: step.limitS * slack }, steps, say)
    if (stuck.length > 0) return stuck
  }
  return []
}

async function until(isOver: () => boolean): Promise<void> {
  while (!isOver()) await sleep(lookEveryMs)
}

/** The findings of one check after the other, from when the load has ended. */
async function* checksOf(
  system: System,
  records: Records,
  {
    plan: { slack = 1, patienceS = defaultPatienceS },
    before,
    windows,
  }: { plan: Plan; before: Record<string, number>; windows: () => Window[] },
): AsyncGenerator<Finding[]> {
  const { api, mesh } = system
  const client = new Client({ connectionString: mesh.databaseUrl() })
  await client.connect()
  try {
    yield await settle(client, patienceS * 1_000)
    await eventually(() => lateOf(records).length === 0, pushesWithinMs).catch(() => undefined)
    yield await checkTables(client, records)
  } finally {
    await client.end()
  }
  yield checkAnswers(records, windows())
  yield checkPushes(records)
  yield checkEffects(records, windows(), effectsWithinS * slack)
  yield await checkPromisedBalances(api, records, before)
  yield await readBack(system, records)
  yield await checkBalances(mesh.databaseUrl())
}

/** Faults that were injected. */
export function count(steps: readonly Done[]): number {
  return steps.reduce((sum, { faults }) => sum + faults.length, 0)
}

/** Waits until the load flows, injects the faults of a step together, and waits until all is ready again. */
async function runStep(
  system: System,
  load: Load,
  { number, pauseMs, faults, limitS }: Step,
  steps: Done[],
  say: (line: string) => void,
): Promise<Finding[]> {
  const titles = faults.map(({ title }) => title)
  await sleep(pauseMs)
  say(`step ${number}: ${titles.join(' + ')}`)
  const beganMs = Date.now()
  const problems = await Promise.allSettled(faults.map((fault) => fault.inject(system)))
  const overMs = Date.now()
  const shown = faults.map(({ name, title }) => ({ name, title }))
  steps.push({ number, faults: shown, beganMs, overMs, limitS, answersS: 0, effectsS: 0 })
  try {
    for (const problem of problems) if (problem.status === 'rejected') throw problem.reason
    const done = load.done()
    await system.mesh.ready()
    await eventually(() => load.done() >= done + betweenSteps, flowsWithinMs)
    return []
  } catch (error) {
    const examples = [error instanceof Error ? error.message.slice(0, 2_000) : String(error)]
    return [{ rule: `the system did not work again after step ${number}`, count: 1, examples }]
  }
}
