// Runs a recovery test for a chosen length: `npm run test:kill -- --freeze 50`, or another option of the table below.
import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'

const system = ['--config', 'test/system/vitest.config.ts']

/** By option: what vitest runs, and the variable that says for how long. */
const scenarios = {
  freeze: {
    run: [...system, 'test/system/recovery/bill-faults.test.ts'],
    variable: 'FREEZE_S',
  },
  'push-rounds': {
    run: [...system, 'test/system/recovery/kill-pushes.test.ts'],
    variable: 'KILL_PUSH_ROUNDS',
  },
  'due-pushes': {
    run: ['test/delivery/recovery.test.ts', '-t', 'pushes that are due at once'],
    variable: 'DUE_PUSHES',
  },
}
type Option = keyof typeof scenarios

const names = Object.keys(scenarios) as Option[]
const { values } = parseArgs({
  options: Object.fromEntries(names.map((name) => [name, { type: 'string' } as const])),
})
const option = names.find((name) => values[name] !== undefined)
if (option === undefined) throw new Error(`one of --${names.join(', --')} is wanted, with a number`)
const { run, variable } = scenarios[option]

function wanted(text: string): number {
  const value = Number(text)
  if (!(value > 0)) throw new Error(`--${option} wants a number above zero`)
  return value
}

const length = String(wanted(values[option] ?? ''))
const child = spawn('vitest', ['run', ...run], {
  env: { ...process.env, [variable]: length, PAYWEAVE_TEST_MESH: 'none' },
  stdio: 'inherit',
})
child.on('exit', (code) => {
  process.exitCode = code ?? 1
})
