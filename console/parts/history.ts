// What was read of the parts in the last hour, and which alerts follow from it. It is in memory: a display, lost with the process.
import type { Sample } from './exposition.ts'
import { type Backlog, backlogs, type Rule, rules, type Selector } from './rules.ts'

/** A value of one replica of a part. */
export type PartSample = Sample & { part: string }

/** All samples of one moment. */
export type Round = { timeMs: number; samples: PartSample[] }

/** What one round leaves behind: the value of each backlog, and of each group of each rule. */
type Kept = { timeMs: number; backlogs: (number | undefined)[]; groups: Map<string, Reading>[] }

/** The value of a group in one round; of a share, that of its whole. */
type Reading = { value: number; whole: number }

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
  if (sample.metric !== metric) return false
  return Object.entries(labels).every(([name, wanted]) => {
    const value = sample.labels[name] ?? ''
    return wanted instanceof RegExp ? wanted.test(value) : wanted === value
  })
}

function maxOf(samples: Sample[]): number | undefined {
  return samples.length === 0 ? undefined : Math.max(...samples.map(({ value }) => value))
}

/** The value of a rule by part and by its own labels. */
function groupsOf(rule: Rule, samples: PartSample[], timeMs: number): Map<string, Reading> {
  const { of, whole, by = [] } = rule
  const isPart = (one: PartSample) => of.some((selector) => isOf(selector, one))
  const isWhole = (one: PartSample) => whole !== undefined && isOf(whole, one)
  const groups = Map.groupBy(
    samples.filter((one) => isPart(one) || isWhole(one)),
    ({ part, labels }) => [part, ...by.map((name) => labels[name] ?? '')].join(' '),
  )
  return new Map(
    [...groups].map(([group, own]) => [
      group,
      {
        value: valueOf(rule, own.filter(isPart), timeMs),
        whole: sumOf(own.filter(isWhole)),
      },
    ]),
  )
}

/** The highest of the replicas; of counters the sum. */
function valueOf({ as }: Rule, samples: PartSample[], timeMs: number): number {
  if (as === 'growth' || as === 'share') return sumOf(samples)
  if (as === 'kinds') return new Set(samples.map(({ labels }) => labels['key_id'])).size
  const highest = Math.max(...samples.map(({ value }) => value))
  return as === 'age' ? timeMs / 1_000 - highest : highest
}

function sumOf(samples: PartSample[]): number {
  return samples.reduce((sum, { value }) => sum + value, 0)
}

type RuleRound = { timeMs: number; groups: Map<string, Reading> | undefined }

function alertsOf(rule: Rule, rounds: RuleRound[]): Alert[] {
  const last = rounds.at(-1)
  return [...(last?.groups?.keys() ?? [])].flatMap((group) => {
    const readings = rounds.map(({ timeMs, groups }) => ({ timeMs, reading: groups?.get(group) }))
    const seen = seenAs(rule, readings)
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
type ReadingAt = { timeMs: number; reading: Reading | undefined }

/** Rounds are a little more than a minute apart: five minutes have five of them. */
const slackMs = 30_000

/** The values that the condition is on; undefined where nothing was read. */
function seenAs(rule: Rule, readings: ReadingAt[]): Value[] {
  return readings.map(({ timeMs, reading }, at) => {
    const within = (ms: number) =>
      readings.slice(0, at + 1).filter((one) => one.timeMs >= timeMs - ms - slackMs)
    return { timeMs, value: seenNow(rule, reading, within) }
  })
}

function seenNow(
  { as, overS }: Rule,
  reading: Reading | undefined,
  within: (ms: number) => ReadingAt[],
): number | undefined {
  const spanMs = overS === undefined ? keptMs : overS * 1_000
  const growth = (of: keyof Reading) => growthIn(within(spanMs).map((one) => one.reading?.[of]))
  if (as === 'growth') return growth('value')
  if (reading === undefined) return undefined
  if (as === 'share') return growth('whole') === 0 ? undefined : growth('value') / growth('whole')
  if (as === 'fall') {
    const values = within(spanMs).flatMap((one) => one.reading?.value ?? [])
    return Math.max(...values) - reading.value
  }
  return reading.value
}

/** How much a counter has grown since the first value; a restart begins at zero. */
function growthIn(values: (number | undefined)[]): number {
  return values.reduce<number>((grown, value, at) => {
    const before = values[at - 1]
    return value === undefined || before === undefined ? grown : grown + Math.max(0, value - before)
  }, 0)
}

function holds({ is, limit }: Rule, value: number): boolean {
  return is === 'above' ? value > limit : value < limit
}

function rankOf(one: Alert, other: Alert): number {
  const rank = ({ isFiring, severity }: Alert) => (isFiring ? 0 : 2) + (severity === 'page' ? 0 : 1)
  return rank(one) - rank(other)
}
