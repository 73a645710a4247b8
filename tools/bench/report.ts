// Writes measurements as Markdown, into the pages of tools/bench/results that they replace.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { Turn } from './compare.ts'
import type { Footprint } from './footprint.ts'
import { connections, type Measured } from './load/measure.ts'

const results = path.join(import.meta.dirname, 'results')

/** What was compared with what must be reached, where something must. */
export type Goal = {
  what: string
  route: string
  /** Of the rate of one process. */
  minRatio?: number
  /** Of the rate of the bare statement. */
  minOfStatement?: number
  /** Of the p99 of one process. */
  maxTail?: number
}
/** What the comparison of any route has. */
type Compared = Pick<Turn, 'product' | 'oneProcess' | 'statement'>

/** The comparison of product and yardsticks. */
export function describeTurns(turns: Compared[], goal: Goal): string[] {
  const { what, route, minRatio } = goal
  const ratios = turns.map(({ product, oneProcess }) => product.perSecond / oneProcess.perSecond)
  const rows = turns.map(({ product, oneProcess, statement }, index) => [
    String(index + 1),
    whole(product.perSecond),
    whole(oneProcess.perSecond),
    statement === undefined ? '–' : whole(statement),
    (ratios[index] ?? 0).toFixed(2),
    statement === undefined ? '–' : (product.perSecond / statement).toFixed(2),
    `${product.p50Ms.toFixed(1)} / ${product.p99Ms.toFixed(1)}`,
    `${oneProcess.p50Ms.toFixed(1)} / ${oneProcess.p99Ms.toFixed(1)}`,
    `${percent(product.othersShare)} / ${percent(oneProcess.othersShare)}`,
  ])
  const reached = median(ratios)
  return [
    `${route}, ${connections} connections. **Ratio to one process: median ${reached.toFixed(2)}`,
    `(${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)})${verdict(reached, minRatio)}.**`,
    ...describeTail(turns, goal),
    ...describeStatement(turns, goal),
    '',
    ...table(
      [
        'turn',
        `${what}/s product`,
        'one process',
        'pgbench',
        'ratio',
        'to pgbench',
        'product p50 / p99 ms',
        'one process p50 / p99 ms',
        'taken by others, %',
      ],
      rows,
    ),
    '',
    'CPU per request in µs, median of the turns:',
    '',
    ...cpuTable(turns),
  ]
}

function describeTail(turns: Compared[], { maxTail }: Goal): string[] {
  if (maxTail === undefined) return []
  const tail = median(turns.map(({ product, oneProcess }) => product.p99Ms / oneProcess.p99Ms))
  const word = tail <= maxTail ? 'reached' : 'missed'
  return [
    `p99: median **${tail.toFixed(2)}** times that of one process (at most ${maxTail}: ${word}).`,
  ]
}

function describeStatement(turns: Compared[], { minOfStatement }: Goal): string[] {
  const shares = turns.flatMap(({ product, statement }) =>
    statement === undefined ? [] : [product.perSecond / statement],
  )
  if (minOfStatement === undefined || shares.length === 0) return []
  const share = median(shares)
  return [`To pgbench: median **${share.toFixed(2)}**${verdict(share, minOfStatement)}.`]
}

/** The median and range of some ratios, and whether it reaches the goal. */
export function ratioLine(what: string, ratios: number[], minRatio: number): string {
  const range = `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`
  const reached = median(ratios)
  return `**${what}: median ${reached.toFixed(2)} (${range})${verdict(reached, minRatio)}.**`
}

function verdict(reached: number, minRatio: number | undefined): string {
  if (minRatio === undefined) return ''
  return reached >= minRatio ? ` ≥ ${minRatio}: reached` : ` < ${minRatio}: missed`
}

/** Rows that the product had stored, and what was still to be done behind the answers. */
export function describeStored(turns: Turn[]): string[] {
  const rows = turns.map(({ stored }, index) => [
    String(index + 1),
    String(stored.payments),
    String(stored.eventsWaiting),
    String(stored.tasksWaiting),
  ])
  return [
    'Work behind the answers when the load ended:',
    '',
    ...table(['turn', 'payments', 'events not yet published', 'announcements not yet made'], rows),
  ]
}

/** Start-up and memory. */
export function describeFootprint({ firstReadyMs, secondReadyMs, pssMb }: Footprint): string[] {
  const bySize = Object.entries(pssMb).toSorted(([, a], [, b]) => b - a)
  return [
    `\`npm start\` until \`/readyz\` answers 200: **${seconds(firstReadyMs)} s** on an empty folder,`,
    `**${seconds(secondReadyMs)} s** the second time (at most 6 s).`,
    `Idle mesh: **${whole(total(pssMb))} MB** PSS in all (at most 900 MB).`,
    '',
    ...table(
      ['part', 'PSS in MB'],
      bySize.map(([name, size]) => [name, whole(size)]),
    ),
  ]
}

/** Replaces the page of a measurement, or adds it to the folder and to the list in its README.md. */
export function record(title: string, lines: string[], folder = results): void {
  const name = `${title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.md`
  const page = path.join(folder, name)
  if (!fs.existsSync(page))
    fs.appendFileSync(path.join(folder, 'README.md'), `- [${title}](${name})\n`)
  fs.writeFileSync(page, `# ${title}\n\n${circumstances()}\n\n${lines.join('\n').trimEnd()}\n`)
}

function circumstances(): string {
  const model = os.cpus()[0]?.model ?? 'unknown processor'
  const [load = 0] = os.loadavg()
  const day = new Date().toISOString().slice(0, 16).replace('T', ' ')
  return `${day} UTC, ${os.cpus().length} cores (${model}), Node.js ${process.version}, load average ${load.toFixed(1)} at the end.`
}

function cpuTable(turns: Compared[]): string[] {
  const of = (name: string, pick: (turn: Compared) => Measured): string => {
    const values = turns.map((turn) => pick(turn).cpuMicros[name])
    return values.includes(undefined) ? '' : whole(median(values as number[]))
  }
  const names = new Set(
    turns.flatMap((turn) => [
      ...Object.keys(turn.product.cpuMicros),
      ...Object.keys(turn.oneProcess.cpuMicros),
    ]),
  )
  const rows = [...names].map((name) => [
    name,
    of(name, (turn) => turn.product),
    of(name, (turn) => turn.oneProcess),
  ])
  const all = (pick: (turn: Compared) => Measured): string =>
    whole(
      median(
        turns.map((turn) => total(pick(turn).cpuMicros) - (pick(turn).cpuMicros['load'] ?? 0)),
      ),
    )
  const sums = ['all but the load', all((turn) => turn.product), all((turn) => turn.oneProcess)]
  return table(['process', 'product', 'one process'], [...rows, sums])
}

/** Microseconds of CPU by process, and their sum without the load. */
export function cpuLines(turns: Record<string, number>[]): string[] {
  const names = Object.keys(turns[0] ?? {})
  const of = (pick: (turn: Record<string, number>) => number): string =>
    whole(median(turns.map(pick)))
  const sum = of((turn) => total(turn) - (turn['load'] ?? 0))
  return table(
    ['process', 'µs'],
    [...names.map((name) => [name, of((turn) => turn[name] ?? 0)]), ['all but the load', sum]],
  )
}

/** A table in Markdown. */
export function table(head: string[], rows: string[][]): string[] {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
}

/** A share as a whole number of hundredths. */
export function percent(share: number): string {
  return (share * 100).toFixed(0)
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1)
}

/** The middle one of some values. */
export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

function total(values: Record<string, number>): number {
  return Object.values(values).reduce((sum, value) => sum + value, 0)
}

/** A number without decimals. */
export function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}
