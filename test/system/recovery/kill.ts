// Runs the long recovery tests for a chosen length: `npm run test:kill -- --minutes N`, or another option of the table below.
import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'

const system = ['--config', 'test/system/vitest.config.ts']

/** By option: what vitest runs, the variable that says for how long, and its units in one of the option. */
const scenarios = {
  minutes: {
    run: [...system, 'test/system/recovery/kill.test.ts'],
    variable: 'KILL_TEST_S',
    units: 60,
  },
  'bill-rounds': {
    run: [...system, 'test/system/recovery/kill-bills.test.ts'],
    variable: 'KILL_BILL_ROUNDS',
    units: 1,
  },
  freeze: {
    run: [...system, 'test/system/recovery/bill-faults.test.ts'],
    variable: 'FREEZE_S',
    units: 1,
  },
  'push-rounds': {
    run: [...system, 'test/system/recovery/kill-pushes.test.ts'],
    variable: 'KILL_PUSH_ROUNDS',
    units: 1,
  },
  'thundering-herd': {
    run: ['test/delivery/recovery.test.ts', '-t', 'a thundering herd'],
    variable: 'HERD_PUSHES',
    units: 1,
  },
}
type Option = keyof typeof scenarios

const names = Object.keys(scenarios) as Option[]
const { values } = parseArgs({
  options: Object.fromEntries(names.map((name) => [name, { type: 'string' } as const])),
})
const option = names.find((name) => name !== 'minutes' && values[name] !== undefined) ?? 'minutes'
const { run, variable, units } = scenarios[option]

function wanted(text: string): number {
  const value = Number(text)
  if (!(value > 0)) throw new Error(`--${option} wants a number above zero`)
  return value
}

const length = String(wanted(values[option] ?? '10') * units)
const child = spawn('vitest', ['run', ...run], {
  env: { ...process.env, [variable]: length, PAYWEAVE_TEST_MESH: 'none' },
  stdio: 'inherit',
})
child.on('exit', (code) => {
  process.exitCode = code ?? 1
})
