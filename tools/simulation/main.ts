// npm run simulate: runs seeds of the simulation and prints the history of each that breaks a rule.
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { replaceGlobals } from './engine/globals.ts'

replaceGlobals()
const { runSeeds } = await import('./run-seeds.ts')

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
    within: { type: 'string' },
    part: { type: 'string' },
    database: { type: 'string' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    history: { type: 'boolean', default: false },
  },
})
const first = Number(values.seed ?? values.from)
process.exitCode = await runSeeds({
  first,
  count: values.seed === undefined ? Number(values.seeds) : 1,
  withinMs: values.within === undefined ? Number.POSITIVE_INFINITY : Number(values.within) * 1_000,
  part: values.part,
  database: values.database,
  jobs: Number(values.jobs),
  showsHistory: values.history || values.seed !== undefined,
})
