// Sums up a campaign for its report: what clients saw, and how soon each kind of fault was over for them.
import type { Outcome } from '../campaign.ts'
import { isBad } from '../check/answers.ts'
import { recoveredS } from '../check/recovery.ts'

/** Answers of one route: how many, how fast, and what they were. */
export type RouteRow = {
  route: string
  requests: number
  p50Ms: number
  p99Ms: number
  maxMs: number
  /** By status of HTTP and error code. */
  answers: Record<string, number>
}

/** Recovery from one row of the table of faults, in seconds; of steps in which it was alone. */
export type FaultRow = {
  name: string
  /** How often it was injected, and how often alone. */
  injected: number
  alone: number
  /** The shortest of its steps. */
  limitS: number
  answersMedianS: number
  answersMaxS: number
  effectsMedianS: number
  effectsMaxS: number
}

/** What clients saw of each route. */
export function routesOf({ records }: Outcome): RouteRow[] {
  const tries = records.operations.flatMap((operation) => operation.tries)
  return [...Map.groupBy(tries, ({ route }) => route)]
    .map(([route, all]) => {
      const times = all
        .filter((one) => !isBad(one))
        .map(({ sentMs, endMs }) => endMs - sentMs)
        .toSorted((one, other) => one - other)
      const names = Object.groupBy(all, ({ status, error }) =>
        status === 0
          ? `no answer (${error})`
          : `${status}${error === undefined ? '' : ` ${error}`}`,
      )
      const answers = Object.fromEntries(
        Object.entries(names)
          .map(([name, some = []]) => [name, some.length] as const)
          .toSorted(([, one], [, other]) => other - one),
      )
      const at = (share: number) => times[Math.floor(share * (times.length - 1))] ?? Number.NaN
      return { route, requests: all.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1), answers }
    })
    .toSorted((one, other) => other.requests - one.requests)
}

/** How soon each kind of fault was over. */
export function faultsOf({ steps }: Outcome): FaultRow[] {
  const injected = steps.flatMap(({ faults }) => faults.map(({ name }) => name))
  const single = steps.filter(({ faults }) => faults.length === 1)
  return [...new Set(injected)].toSorted().map((name) => {
    const alone = single.filter(({ faults }) => faults[0]?.name === name)
    const answers = sorted(alone.map(recoveredS))
    const effects = sorted(alone.flatMap(({ effectsS = [] }) => effectsS))
    return {
      name,
      injected: injected.filter((one) => one === name).length,
      alone: alone.length,
      limitS: sorted(alone.map(({ limitS }) => limitS))[0] ?? Number.NaN,
      answersMedianS: middle(answers),
      answersMaxS: answers.at(-1) ?? Number.NaN,
      effectsMedianS: middle(effects),
      effectsMaxS: effects.at(-1) ?? Number.NaN,
    }
  })
}

function sorted(values: number[]): number[] {
  return values.toSorted((one, other) => one - other)
}

function middle(values: number[]): number {
  return values[Math.floor((values.length - 1) / 2)] ?? Number.NaN
}
