// Plants each defect, or some, and reports whether its test finds it: npm run test:defects -- [--count 4] [--seed 7] [--only words]
import { parseArgs } from 'node:util'
import { defects } from './defects.ts'
import { choose, copyProject } from './plant.ts'

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: String(defects.length) },
    seed: { type: 'string', default: '0' },
    only: { type: 'string', default: '' },
  },
})
const wanted = defects.filter(({ name }) => name.includes(values.only))
const copy = copyProject()
let missed = 0
try {
  for (const defect of choose(wanted, Number(values.count), Number(values.seed))) {
    const startedMs = performance.now()
    const { finding, output } = await copy.tryDefect(defect)
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
