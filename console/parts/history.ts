// What was read of the parts in the last hour, and which alerts follow from it. It is in memory: a display, lost with the process.
import type { Sample } from './exposition.ts'
import { type Backlog, backlogs, type Rule, rules, type Selector } from './rules.ts'

/** A value of one replica of a part. */
export type PartSample = Sample & { part: string }

/** All samples of one moment. */
export type Round = { timeMs: number; samples: PartSample[] }

/** What one round leaves behind: the value of each backlog, and of each group of each rule. */
type Kept = { timeMs: number; backlogs: (number | undefined)[]; groups: Map<string, number>[] }

/** A backlog with its values of an hour, the oldest first; undefined where nobody answered. */
export type BacklogTrend = Backlog & { values: (number | undefined)[] }

/** A rule whose condition holds: for which part, since when, and for long enough to fire. */
export type Alert = Rule & { group: string; sinceMs: number; isFiring: boolean; value: number }

const keptMs = 3_600_000

/** Keeps rounds for an hour. */
export function createHistory() {
  let kept: Kept[] = []
  return {
    add({ timeMs, samples }: Round): void {
      kept = kept.filter((one) => one.timeMs > timeMs - keptMs)
      kept.push({
        timeMs,
        backlogs: backlogs.map((one) => maxOf(samples.filter((sample) => isOf(one, sample)))),
        groups: rules.map((rule) => groupsOf(rule, samples, timeMs)),
      })
    },
    trends: (): BacklogTrend[] =>
      backlogs.map((one, at) => ({ ...one, values: kept.map((round) => round.backlogs[at]) })),
    /** Those that fire first; of each kind the ones that page first. */
    alerts: (): Alert[] =>
      rules
        .flatMap((rule, at) =>
          alertsOf(
            rule,
            kept.map(({ timeMs, groups }) => ({ timeMs, groups: groups[at] })),
          ),
        )
        .toSorted(rankOf),
  }
}

function isOf({ metric, labels = {} }: Selector, sample: Sample): boolean {
  const wanted = Object.entries(labels)
  return sample.metric === metric && wanted.every(([name, value]) => sample.labels[name] === value)
}

function maxOf(samples: Sample[]): number | undefined {
  return samples.length === 0 ? undefined : Math.max(...samples.map(({ value }) => value))
}

/** The value of a rule by part and by its own labels. */
function groupsOf({ of, by = [], as }: Rule, samples: PartSample[], timeMs: number) {
  const groups = new Map<string, number>()
  for (const sample of samples.filter((one) => of.some((selector) => isOf(selector, one)))) {
    const group = [sample.part, ...by.map((name) => sample.labels[name] ?? '')].join(' ')
    const before = groups.get(group)
    // The highest of the replicas; of counters the sum.
    if (as === 'growth') groups.set(group, (before ?? 0) + sample.value)
    else groups.set(group, Math.max(before ?? Number.NEGATIVE_INFINITY, sample.value))
  }
  if (as === 'age') for (const [group, value] of groups) groups.set(group, timeMs / 1_000 - value)
  return groups
}

type RuleRound = { timeMs: number; groups: Map<string, number> | undefined }

function alertsOf(rule: Rule, rounds: RuleRound[]): Alert[] {
  const last = rounds.at(-1)
  return [...(last?.groups?.keys() ?? [])].flatMap((group) => {
    const values = rounds.map(({ timeMs, groups }) => ({ timeMs, value: groups?.get(group) }))
    const seen = rule.as === 'growth' ? growthOf(values) : values
    // Back from now to the first round in which it did not hold.
    const broken = seen.findLastIndex(({ value }) => value === undefined || !holds(rule, value))
    const [first] = seen.slice(broken + 1)
    const { timeMs: nowMs = 0, value = 0 } = seen.at(-1) ?? {}
    if (first === undefined) return []
    const isFiring = nowMs - first.timeMs >= rule.forS * 1_000
    return [{ ...rule, group, sinceMs: first.timeMs, isFiring, value }]
  })
}

type Value = { timeMs: number; value: number | undefined }

/** How much a counter has grown since the first value, at each of them; a restart begins at zero. */
function growthOf(values: Value[]): Value[] {
  let grown = 0
  return values.map(({ timeMs, value }, at) => {
    const before = values[at - 1]?.value
    if (value !== undefined && before !== undefined) grown += Math.max(0, value - before)
    return { timeMs, value: grown }
  })
}

function holds({ is, limit }: Rule, value: number): boolean {
  return is === 'above' ? value > limit : value < limit
}

function rankOf(one: Alert, other: Alert): number {
  const rank = ({ isFiring, severity }: Alert) => (isFiring ? 0 : 2) + (severity === 'page' ? 0 : 1)
  return rank(one) - rank(other)
}
