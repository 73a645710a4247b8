// One step of a campaign: injects its faults together, and waits until every part answers again.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Window } from './check/answers.ts'
import { carriedOut, type Finding, findingOf } from './check/finding.ts'
import { effectsRecoveredS, lateRule, unfinishedOf } from './check/pushes.ts'
import type { Recovery } from './check/recovery.ts'
import type { Load } from './load/load.ts'
import type { Operation } from './load/records.ts'
import type { Step } from './schedule.ts'
import type { Slack } from './slack.ts'
import type { System } from './system/system.ts'

/** A step that is over. Its limit has been multiplied by its slack. */
export type Done = Window & {
  number: number
  faults: { name: string; title: string }[]
  /** By what its limits were multiplied. */
  slack: number
  /** The routes whose requests failed, longest first. */
  recoveries: Recovery[]
  /** Seconds after the end of the faults until all that began before was answered and pushed; of steps after which it was waited for. */
  effectsS?: number
}

/** What a step is run with. */
type Run = {
  system: System
  load: Load
  steps: Done[]
  slack: Slack
  /** Whether the campaign may end: the case that it looks for is there. */
  isShown: () => boolean
  say: (line: string) => void
}

/** Leases take 60 s, and an event is published again after 60 s at most. */
export const effectsWithinS = 130
/** What an operation takes by itself, beside the recovery: payers act after up to 5 s, and an enquiry is made after 10 s. */
const operationS = 45
const lookEveryMs = 200
/** At all operations and pushes of the campaign. */
const checkAllEveryMs = 1_000

/**
 * Runs a step. After the faults it begins an operation of each kind: the step is over when all of those have ended, and when nothing
 * that began before is left if the step is followed by a rest.
 */
export async function runStep(
  run: Run,
  { number, pauseMs, faults, limitS, isRest }: Step,
): Promise<{ found: Finding[]; worksAgain: boolean }> {
  const { system, load, steps, slack, isShown, say } = run
  await sleep(pauseMs)
  say(`step ${number}: ${faults.map(({ title }) => title).join(' + ')}`)
  const beganMs = Date.now()
  const injected = await Promise.all(
    faults.map(({ title, inject }) =>
      carriedOut(title, async () => {
        await inject(system)
        return []
      }),
    ),
  )
  const overMs = Date.now()
  const step: Done = {
    number,
    faults: faults.map(({ name, title }) => ({ name, title })),
    beganMs,
    overMs,
    limitS,
    slack: 1,
    recoveries: [],
  }
  steps.push(step)
  const found = injected.flat()
  const work = load.beginEach(number)
  const open = () => work.filter(({ doneMs }) => doneMs === undefined)
  const worksAgain = await isWithin(run, step, limitS + operationS, () => open().length === 0)
  if (isShown()) return { found, worksAgain }
  if (!worksAgain) found.push(...stuck(number, open()))
  const started = !worksAgain
    ? []
    : await carriedOut(`the start after step ${number}`, async () => {
        await system.mesh.ready()
        return []
      })
  found.push(...started)
  step.slack = slack.between(beganMs, Date.now())
  step.limitS = limitS * step.slack
  if (worksAgain && isRest) found.push(...(await rest(run, step)))
  return { found, worksAgain: worksAgain && started.length === 0 }
}

function stuck(number: number, open: readonly Operation[]): Finding[] {
  return findingOf(
    'kinds of operations that did not work again after a step',
    open.map(({ kind, tries }) => {
      const last = tries.at(-1)
      return `step ${number}: ${kind}; last: ${last?.route} ${last?.status} ${last?.error ?? ''}`
    }),
  )
}

/** Waits until all that began before the end of a step is answered and pushed. */
async function rest(run: Run, step: Done): Promise<Finding[]> {
  const { records } = run.load
  const left = () => unfinishedOf(records, step.overMs)
  await isWithin(run, step, effectsWithinS, () => left().length === 0, checkAllEveryMs)
  step.effectsS = effectsRecoveredS(records, step)
  return findingOf(
    lateRule,
    left().map(({ kind, id }) => `${kind} ${id}: not over when step ${step.number} was`),
  )
}

/** Waits until a condition holds; false if it did not within `limitS` seconds after the step's faults, times the slack. */
async function isWithin(
  { slack, isShown }: Run,
  { beganMs, overMs }: Window,
  limitS: number,
  holds: () => boolean,
  everyMs = lookEveryMs,
): Promise<boolean> {
  while (!holds()) {
    const nowMs = Date.now()
    const tookS = (nowMs - overMs) / 1_000
    if (isShown() || (tookS > limitS && tookS > limitS * slack.between(beganMs, nowMs)))
      return false
    await sleep(everyMs)
  }
  return true
}
