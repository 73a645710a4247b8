// Reports in Markdown how the product performed beside a million stored payments.
import type { Growth, GrowthTurn, Seen } from './growth.ts'
import { median, percent, table, whole } from './report.ts'

const minRatio = 0.9

/** The comparison as Markdown. */
export function describeGrowth(growth: Growth): string[] {
  const { empty, full, creates, reads, firstReads } = growth
  return [
    `Beside ${whole(full.payments)} payments and ${whole(full.events)} rows of outbox and inbox (${whole(full.megabytes)} MB of`,
    `tables and indexes) in place of ${whole(empty.payments)} and ${whole(empty.events)}; reads go over 20,000 of all payments.`,
    '',
    `**Ratio, median of the turns: creates ${verdictOf(creates)}; reads ${verdictOf(reads)}.**`,
    '',
    ...table(
      [
        'turn',
        'empty /s',
        'full /s',
        'ratio',
        'p99 ms empty / full',
        'PostgreSQL µs empty / full',
        'pages in / not in its buffers, empty',
        'full',
        'taken by others, %',
      ],
      [...rowsOf('creates', creates), ...rowsOf('reads', reads)],
    ),
    '',
    `The first reads after the start, of payments that nobody had asked for: ${whole(firstReads.perSecond)}/s, p99 ${firstReads.p99Ms.toFixed(1)} ms,`,
    `${whole(postgresMicros(firstReads))} µs of PostgreSQL, ${pagesOf(firstReads)} pages. The reads in the table come after all 20,000 were read once.`,
  ]
}

function verdictOf(turns: GrowthTurn[]): string {
  const ratios = turns.map(ratioOf)
  const reached = median(ratios)
  const word = reached >= minRatio ? `≥ ${minRatio}: reached` : `< ${minRatio}: missed`
  return `${reached.toFixed(2)} (${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}) ${word}`
}

function ratioOf({ empty, full }: GrowthTurn): number {
  return full.perSecond / empty.perSecond
}

function rowsOf(what: string, turns: GrowthTurn[]): string[][] {
  return turns.map(({ empty, full }, index) => [
    `${what} ${index + 1}`,
    whole(empty.perSecond),
    whole(full.perSecond),
    ratioOf({ empty, full }).toFixed(2),
    `${empty.p99Ms.toFixed(1)} / ${full.p99Ms.toFixed(1)}`,
    `${whole(postgresMicros(empty))} / ${whole(postgresMicros(full))}`,
    pagesOf(empty),
    pagesOf(full),
    `${percent(empty.othersShare)} / ${percent(full.othersShare)}`,
  ])
}

function postgresMicros({ cpuMicros }: Seen): number {
  return cpuMicros['postgres'] ?? 0
}

function pagesOf({ pages }: Seen): string {
  return `${pages.hit.toFixed(1)} / ${pages.missed.toFixed(2)}`
}
