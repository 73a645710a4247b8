// Keeps the result of the last run of each fault, as JSON and as the page that people read.
import fs from 'node:fs'
import path from 'node:path'
import type { Facts, Fault } from '../faults/fault.ts'
import { faultNames } from '../faults/names.ts'
import { faultNamed } from '../faults/table.ts'
import type { Counts } from './invariants.ts'
import type { Measures } from './measure.ts'

/** The result of one fault. */
export type Result = {
  fault: Fault['name']
  date: string
  ratePerS: number
  facts: Facts
  measures: Measures
  /** What broke a rule, by what was counted. */
  violations: Counts
}

type Results = Partial<Record<Fault['name'], Result>>

/** Writes a result into `results.json`, and all that are there into `results.md`. */
export function keepResult(folder: string, result: Result): void {
  fs.mkdirSync(folder, { recursive: true })
  const file = path.join(folder, 'results.json')
  const before = fs.existsSync(file) ? (JSON.parse(fs.readFileSync(file, 'utf8')) as Results) : {}
  const results = { ...before, [result.fault]: result }
  fs.writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`)
  fs.writeFileSync(path.join(folder, 'results.md'), pageOf(results))
}

/** One line on a result, for the terminal. */
export function lineOf({ fault, facts, measures, violations }: Result): string {
  const broken = Object.entries(violations).map(([name, count]) => `${count} ${name}`)
  const verdict = broken.length === 0 ? 'nothing lost' : broken.join('; ')
  return `${fault}: ${faultNamed(fault).measured(measures, facts)}; ${failuresOf(measures)}; ${verdict}`
}

function failuresOf({ creates, createsFailed, others, othersFailed }: Measures): string {
  return `first request failed: ${createsFailed} of ${creates} creates, ${othersFailed} of ${others} others`
}

function pageOf(results: Results): string {
  const rows = faultNames.flatMap((name) => {
    const result = results[name]
    if (result === undefined) return []
    const { measures, facts, violations, date } = result
    const { title, required, measured } = faultNamed(name)
    const broken = Object.entries(violations).map(([what, count]) => `${count} ${what}`)
    const { creates, createsFailed, others, othersFailed, pushes, pushesRepeated } = measures
    return [
      `| ${title} | ${required} | ${measured(measures, facts)} | ${createsFailed} of ${creates}, ${othersFailed} of ${others} | ${pushes} (${pushesRepeated}) | ${broken.join('; ') || 'none'} | ${date.slice(0, 10)} |`,
    ]
  })
  return [
    '# Results of the cluster tests',
    '',
    'Written by `npm run test:cluster`: the last run of each fault. [What they are](../../../docs/cluster-tests.md).',
    '',
    '| fault | required | measured | first request failed: creates, others | pushes (repeated) | violations | date |',
    '|---|---|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}
