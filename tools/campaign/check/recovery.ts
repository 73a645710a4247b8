// Checks how soon requests of each route succeed after a step.
import type { Records, Try } from '../load/records.ts'
import { isBad, type Window } from './answers.ts'
import { type Finding, findingOf } from './finding.ts'

/** A route whose requests failed: seconds from the end of the faults to the first good answer after the last failure. */
export type Recovery = { route: string; tookS: number }

/**
 * The recovery of each route that a step disturbed, longest first. `untilMs`: when the next step began, or the load ended. A route
 * that had no good answer by then has not recovered.
 */
export function recoveriesOf(
  { operations }: Records,
  { beganMs, overMs }: Pick<Window, 'beganMs' | 'overMs'>,
  untilMs: number,
): Recovery[] {
  const tries = operations
    .flatMap((operation) => operation.tries)
    .filter(({ endMs, sentMs }) => endMs >= beganMs && sentMs < untilMs)
  return [...Map.groupBy(tries, ({ route }) => route)]
    .flatMap(([route, all]) => {
      const recoveredMs = recoveredAtMs(all, untilMs)
      if (recoveredMs === undefined) return []
      return [{ route, tookS: Math.max(0, recoveredMs - overMs) / 1_000 }]
    })
    .toSorted((one, other) => other.tookS - one.tookS)
}

/** When the first good answer came to a request that was sent after the last that failed; undefined when none failed. */
function recoveredAtMs(tries: readonly Try[], untilMs: number): number | undefined {
  const bad = tries.filter((one) => isBad(one) && one.endMs < untilMs)
  if (bad.length === 0) return undefined
  const lastMs = Math.max(...bad.map(({ sentMs }) => sentMs))
  const good = tries.filter((one) => !isBad(one) && one.sentMs > lastMs)
  return Math.min(untilMs, ...good.map(({ endMs }) => endMs))
}

/** Seconds after which every request of a step succeeded. */
export function recoveredS({ recoveries }: { recoveries: readonly Recovery[] }): number {
  return recoveries[0]?.tookS ?? 0
}

/** A step whose routes were all answered again, with its limit. */
type Recovered = { number: number; limitS: number; recoveries: readonly Recovery[] }

export function checkRecovery(steps: readonly Recovered[]): Finding[] {
  return findingOf(
    'recoveries that took longer than their limit',
    steps.flatMap(({ number, limitS, recoveries }) =>
      recoveries
        .filter(({ tookS }) => tookS > limitS)
        .map(
          ({ route, tookS }) =>
            `step ${number}: ${route} after ${tookS.toFixed(1)} s, limit ${limitS.toFixed(1)} s`,
        ),
    ),
  )
}
