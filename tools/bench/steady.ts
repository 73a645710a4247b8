// Watches the memory of every process for minutes of steady work, below saturation.
import { setTimeout as sleep } from 'node:timers/promises'
import { onSystem } from './compare.ts'
import { readCpu, readMachine, readTreePssMb, readTreeRssMb } from './load/processes.ts'
import { type Pace, type SteadyCounts, startSteadyLoad } from './load/steady-load.ts'
import { median, percent, table, whole } from './report.ts'
import { countStored, type Stored } from './store/row-count-store.ts'
import { startMesh } from './systems.ts'

/** Memory of each process in MB, the median of each minute. */
export type ByMinute = Record<string, number[]>

/** What was seen. */
export type Steady = {
  minutes: number
  pace: Pace
  rssMb: ByMinute
  pssMb: ByMinute
  /** Share of the machine that was busy, and that went to the product. */
  busyShare: number
  productShare: number
  counts: SteadyCounts
  stored: Stored
}

type Sample = { minute: number; rss: Record<string, number>; pss: Record<string, number> }

const minutes = Number(process.env['BENCH_STEADY_MINUTES'] ?? 10)
const pace: Pace = { createsPerS: 20, readsPerCreate: 2 }
const sampleEveryMs = 4_000
/** No processes of Node.js: what they hold of memory is set by their own settings. */
const others = new Set(['postgres', 'nats'])
const maxGrowth = 1.05
const comparedMinutes = 2
/** Minutes in which code is compiled and heaps find their size. */
const minutesBefore = 2

/** Ten minutes of it. Throws when anything was refused or is not stored. */
export async function measureSteady(say: (line: string) => void): Promise<Steady> {
  return await onSystem(startMesh, async ({ target, pids, databaseUrl }) => {
    const load = await startSteadyLoad(target, pace)
    const samples: Sample[] = []
    const look = () => ({ cpu: sum(readCpu(pids)), machine: readMachine() })
    const before = look()
    const beganMs = performance.now()
    for (let minute = 0; minute < minutes; ) {
      await sleep(sampleEveryMs)
      samples.push({ minute, rss: readTreeRssMb(pids), pss: readTreePssMb(pids) })
      const now = Math.floor((performance.now() - beganMs) / 60_000)
      if (now > minute) say(summaryOf(minute + 1, samples, load.counts))
      minute = now
    }
    const after = look()
    await load.stop()
    const { counts } = load
    if (counts.refusals.length > 0)
      throw new Error(`${counts.refusals.length} were refused, first: ${counts.refusals[0]}`)
    const stored = await countStored(databaseUrl)
    if (stored.payments < counts.created)
      throw new Error(`${counts.created} were acknowledged, stored are ${stored.payments}`)
    const whole = after.machine.wholeS - before.machine.wholeS
    return {
      minutes,
      pace,
      rssMb: byMinute(samples, ({ rss }) => rss),
      pssMb: byMinute(samples, ({ pss }) => pss),
      busyShare: (after.machine.busyS - before.machine.busyS) / whole,
      productShare: (after.cpu - before.cpu) / whole,
      counts,
      stored,
    }
  })
}

function summaryOf(minute: number, samples: Sample[], { created, pushes }: SteadyCounts): string {
  const rss = samples.at(-1)?.rss ?? {}
  const sizes = Object.entries(rss).map(([name, size]) => `${name} ${size.toFixed(0)}`)
  return `minute ${minute}: ${created} created, ${pushes} pushes; RSS in MB: ${sizes.join(', ')}`
}

function byMinute(samples: Sample[], of: (sample: Sample) => Record<string, number>): ByMinute {
  const names = Object.keys(of(samples[0] ?? { minute: 0, rss: {}, pss: {} }))
  return Object.fromEntries(
    names.map((name) => [
      name,
      Array.from({ length: minutes }, (_, minute) =>
        median(samples.filter((one) => one.minute === minute).map((one) => of(one)[name] ?? 0)),
      ),
    ]),
  )
}

/** The last two minutes by the third and fourth, or by the first ones of a run that is too short for that. */
function growth(sizes: number[]): number {
  const first = Math.max(0, Math.min(minutesBefore, sizes.length - 2 * comparedMinutes))
  const early = median(sizes.slice(first, first + comparedMinutes))
  return median(sizes.slice(-comparedMinutes)) / early
}

/** What was seen as Markdown. */
export function describeSteady(steady: Steady): string[] {
  const { rssMb, pssMb, counts, stored } = steady
  const worst = Object.entries(rssMb)
    .filter(([name]) => !others.has(name))
    .map(([name, sizes]) => ({ name, grown: growth(sizes) }))
    .toSorted((a, b) => b.grown - a.grown)[0] ?? { name: 'none', grown: Number.NaN }
  const verdict = worst.grown <= maxGrowth ? 'reached' : 'missed'
  const isLongEnough = steady.minutes >= minutesBefore + 2 * comparedMinutes
  const heads = Array.from({ length: steady.minutes }, (_, minute) => String(minute + 1))
  return [
    `${steady.minutes} minutes of ${steady.pace.createsPerS} creations/s, each paid a second later and pushed, with ${steady.pace.createsPerS * steady.pace.readsPerCreate} reads/s: ${whole(counts.created)} created,`,
    `${whole(counts.read)} read, ${whole(counts.pushes)} pushes, nothing refused; ${stored.eventsWaiting} events and ${stored.tasksWaiting} tasks waited in the end.`,
    `The product took ${percent(steady.productShare)} % of the machine, all together ${percent(steady.busyShare)} %.`,
    '',
    `**Most growth of a Node.js process: ${worst.grown.toFixed(2)} times (${worst.name}), at most ${maxGrowth}: ${isLongEnough ? verdict : 'the run is too short for a verdict'}.** Growth is the`,
    'RSS of the last two minutes by that of minutes 3 and 4. PostgreSQL is listed separately: it fills its cache once. Sums over all',
    "processes of a part; PostgreSQL's RSS counts what they share once for each.",
    '',
    ...table(['RSS in MB, minute', ...heads, 'growth'], rowsOf(rssMb)),
    '',
    ...table(['PSS in MB, minute', ...heads, 'growth'], rowsOf(pssMb)),
  ]
}

function rowsOf(sizes: ByMinute): string[][] {
  return Object.entries(sizes).map(([name, of]) => [name, ...of.map(whole), growth(of).toFixed(2)])
}

function sum(seconds: Record<string, number>): number {
  return Object.values(seconds).reduce((all, one) => all + one, 0)
}
