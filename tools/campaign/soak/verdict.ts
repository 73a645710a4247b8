// Judges a soak: memory, latency, waiting work and the data that an operation leaves must not grow with time.
import { type Finding, findingOf } from '../check/finding.ts'
import type { Sample } from './samples.ts'

/** The first quarter is not compared: code is compiled in it, and heaps and caches find their size. */
const quarters = 4
const maxMemoryGrowth = 1.15
/** Of one process, below which growth means nothing. */
const memoryToleranceMb = 10
const liveToleranceMb = 5
const maxLatencyGrowth = 1.5
const latencyToleranceMs = 20
const maxWaitingGrowth = 100
const maxBytesGrowth = 1.25
/** What it keeps in memory is set by its own settings, and it fills them once. */
const others = new Set(['postgres'])

/** A comparison of the last quarter with the second one. */
export type Comparison = { what: string; before: number; after: number; max: number }

const median = (values: number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN

const names = (mb: Record<string, number> = {}): string[] =>
  Object.keys(mb).filter((name) => !others.has(name))

/** Everything that is compared. */
export function comparisonsOf(samples: readonly Sample[]): Comparison[] {
  const length = Math.floor(samples.length / quarters)
  const early = samples.slice(length, 2 * length)
  const late = samples.slice(-length)
  if (length === 0) return []
  const compared = (
    what: string,
    of: (sample: Sample) => number,
    maxOf: (before: number) => number,
  ) => {
    const before = median(early.map(of))
    return { what, before, after: median(late.map(of)), max: maxOf(before) }
  }
  return [
    ...names(samples[0]?.liveMb).map((name) =>
      compared(
        `live heap of ${name}, MB`,
        ({ liveMb }) => liveMb[name] ?? 0,
        (before) => Math.max(before * maxMemoryGrowth, before + liveToleranceMb),
      ),
    ),
    ...names(samples[0]?.rssMb).map((name) =>
      compared(
        `resident memory of ${name}, MB`,
        ({ rssMb }) => rssMb[name] ?? 0,
        (before) => Math.max(before * maxMemoryGrowth, before + memoryToleranceMb),
      ),
    ),
    ...(['p50Ms', 'p99Ms'] as const).map((name) =>
      compared(
        `latency, ${name.replace('Ms', '')}, ms`,
        (sample) => sample[name],
        (before) => before * maxLatencyGrowth + latencyToleranceMs,
      ),
    ),
    compared(
      'rows that wait for work',
      ({ waiting }) => waiting,
      (before) => before + maxWaitingGrowth,
    ),
    bytesOf(early, late),
  ]
}

function kbOf(some: readonly Sample[]): number {
  const [first, last] = [some[0], some.at(-1)]
  if (first === undefined || last === undefined) return Number.NaN
  const made = Math.max(1, last.operations - first.operations)
  return ((last.databaseMb - first.databaseMb) * 1_024) / made
}

/** Kilobytes of data that an operation leaves: more of them late than early is bloat. */
function bytesOf(early: readonly Sample[], late: readonly Sample[]): Comparison {
  const before = kbOf(early)
  return {
    what: 'data that an operation leaves, KB',
    before,
    after: kbOf(late),
    max: before * maxBytesGrowth,
  }
}

/** What grew more than it may. A soak too short for four samples is a finding, too: it says nothing. */
export function judge(samples: readonly Sample[]): Finding[] {
  const all = comparisonsOf(samples)
  if (all.length === 0)
    return findingOf('a soak that is too short for a verdict', [`${samples.length} samples`])
  const grown = all.filter(({ after, max }) => after > max)
  return findingOf(
    'figures that grew',
    grown.map(
      ({ what, before, after, max }) =>
        `${what}: ${before.toFixed(1)}, later ${after.toFixed(1)}, at most ${max.toFixed(1)}`,
    ),
  )
}
