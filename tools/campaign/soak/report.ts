// Writes the report of a soak: soak.html for people, soak.json for programs.
import fs from 'node:fs'
import path from 'node:path'
import type { Finding } from '../check/finding.ts'
import { escaped, page, table } from '../report/html.ts'
import type { Retained } from './retention.ts'
import type { Sample } from './samples.ts'
import { comparisonsOf } from './verdict.ts'

/** Result of a soak. */
export type SoakOutcome = {
  hours: number
  ratePerS: number
  seed: number
  operations: number
  pushes: number
  samples: Sample[]
  retained: Retained[]
  findings: Finding[]
}

const widthPx = 900
const heightPx = 120

/** Writes both files into a folder, which is made if it is missing; returns the page. */
export function writeSoakReport(folder: string, outcome: SoakOutcome): string {
  fs.mkdirSync(folder, { recursive: true })
  const comparisons = comparisonsOf(outcome.samples)
  const json = JSON.stringify({ ...outcome, comparisons }, null, 2)
  fs.writeFileSync(path.join(folder, 'soak.json'), `${json}\n`)
  const file = path.join(folder, 'soak.html')
  fs.writeFileSync(file, pageOf(outcome))
  return file
}

function pageOf(outcome: SoakOutcome): string {
  const { hours, ratePerS, operations, pushes, samples, retained, findings } = outcome
  const title = `Soak of ${hours} h: ${findings.length === 0 ? 'passed' : 'failed'}`
  const names = Object.keys(samples.at(-1)?.rssMb ?? {})
  const tables = Object.keys(samples.at(-1)?.tablesMb ?? {})
  const heaps = Object.keys(samples.at(-1)?.liveMb ?? {})
  const live = heaps.map((name) => ({ name, of: ({ liveMb }: Sample) => liveMb[name] ?? 0 }))
  const memory = names.map((name) => ({ name, of: ({ rssMb }: Sample) => rssMb[name] ?? 0 }))
  const sizes = tables.map((name) => ({ name, of: ({ tablesMb }: Sample) => tablesMb[name] ?? 0 }))
  const latency = [
    { name: 'p50', of: ({ p50Ms }: Sample) => p50Ms },
    { name: 'p99', of: ({ p99Ms }: Sample) => p99Ms },
  ]
  const waiting = [{ name: 'rows', of: (sample: Sample) => sample.waiting }]
  const rows = comparisonsOf(samples).map(({ what, before, after, max }) => [
    escaped(what),
    before.toFixed(1),
    after.toFixed(1),
    max.toFixed(1),
    after > max ? '<span class="failed">grew</span>' : '<span class="passed">steady</span>',
  ])
  const kept = retained.map((one) => [
    escaped(one.table),
    ...[one.old, one.gone, one.late, one.withinMin].map(String),
  ])
  return page(
    title,
    `<h1>${escaped(title)}</h1>
<p>${ratePerS} operations begun each second; ${operations} operations, ${pushes} pushes, ${samples.length} samples.</p>
${findings.map((one) => `<h3 class="failed">${one.count} ${escaped(one.rule)}</h3><pre>${escaped(one.examples.join('\n'))}</pre>`).join('\n')}
<h2>Growth</h2>
<p>The median of the last quarter beside that of the second one.</p>
${table(['figure', 'second quarter', 'last quarter', 'at most', ''], rows)}
<h2>Retention</h2>
<p>Rows out of use that were backdated to beyond their retention time.</p>
${table(['table', 'backdated', 'deleted', 'late', 'minutes until one is late'], kept)}
<h2>Live heap of each process, MB</h2>
${linesOf(samples, live)}
<h2>Resident memory, MB</h2>
${linesOf(samples, memory)}
<h2>Latency, ms</h2>
${linesOf(samples, latency)}
<h2>Rows that wait for work</h2>
${linesOf(samples, waiting)}
<h2>Largest tables, MB</h2>
${linesOf(samples, sizes)}`,
  )
}

type Line = { name: string; of: (sample: Sample) => number }

/** One line of SVG for each figure, over the time of the soak. */
function linesOf(samples: readonly Sample[], lines: readonly Line[]): string {
  const endS = Math.max(1, samples.at(-1)?.atS ?? 1)
  const max = Math.max(1, ...lines.flatMap(({ of }) => samples.map(of)))
  const drawn = lines.map(({ name, of }, index) => {
    const hue = Math.round((index * 360) / lines.length)
    const points = samples.map((sample) => {
      const x = (sample.atS / endS) * widthPx
      const y = heightPx - (of(sample) / max) * heightPx
      return `${x.toFixed(1)},${y.toFixed(1)}`
    })
    const last = samples.at(-1)
    const value = last === undefined ? '' : of(last).toFixed(1)
    return `<polyline points="${points.join(' ')}" fill="none" stroke="hsl(${hue} 70% 45%)" stroke-width="1.5"><title>${escaped(name)}: ${value} at the end</title></polyline>`
  })
  const legend = lines.map(
    ({ name }, index) =>
      `<span style="color:hsl(${Math.round((index * 360) / lines.length)} 70% 45%)">${escaped(name)}</span>`,
  )
  return `<svg role="img" aria-label="lines over time" width="${widthPx}" height="${heightPx + 4}">
<text x="2" y="10">at most ${max.toFixed(1)}</text>
${drawn.join('\n')}
</svg>
<p>${legend.join(' · ')}</p>`
}
