// Plants each defect, or some, and reports whether its test finds it: npm run test:defects -- [--count 4] [--seed 7] [--only words]
import { parseArgs } from 'node:util'
import { defects } from './defects.ts'
import { choose, copyProject, type Finding } from './plant.ts'

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: String(defects.length) },
    seed: { type: 'string', default: '0' },
    only: { type: 'string', default: '' },
  },
})
const wanted = defects.filter(({ name }) => name.includes(values.only))
const copy = copyProject()
/** What each test makes of the copy without a defect. One that fails there finds nothing. */
const without = new Map<string, Finding>()
let missed = 0
try {
  for (const defect of choose(wanted, Number(values.count), Number(values.seed))) {
    const { foundBy } = defect
    const before = without.get(foundBy) ?? (await copy.tryWithout(defect)).finding
    without.set(foundBy, before)
    const startedMs = performance.now()
    const tried = await copy.tryDefect(defect)
    const finding = before === 'missed' ? tried.finding : 'not run'
    const output = before === 'missed' ? tried.output : 'its test does not pass without the defect'
    const tookS = Math.round((performance.now() - startedMs) / 1_000)
    process.stdout.write(`${finding}: ${defect.name} (${defect.foundBy}, ${tookS} s)\n`)
    if (finding === 'found') continue
    missed += 1
    if (finding === 'not run') process.stderr.write(`${output.slice(-4_000)}\n`)
  }
} finally {
  copy.remove()
}
process.exitCode = missed === 0 ? 0 : 1
