// The kill tests for as long as wanted: `npm run test:kill -- --minutes N` or `-- --bill-rounds N`. It does nothing else.
import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: { minutes: { type: 'string' }, 'bill-rounds': { type: 'string' } },
})
const rounds = values['bill-rounds']
const [test, length] =
  rounds === undefined
    ? ['kill', { KILL_TEST_S: String(wanted(values.minutes ?? '10', '--minutes') * 60) }]
    : ['kill-bills', { KILL_BILL_ROUNDS: String(wanted(rounds, '--bill-rounds')) }]

function wanted(text: string, option: string): number {
  const value = Number(text)
  if (!(value > 0)) throw new Error(`${option} wants a number above zero`)
  return value
}

const config = ['--config', 'test/system/vitest.config.ts']
const child = spawn('vitest', ['run', ...config, `test/system/${test}.test.ts`], {
  env: { ...process.env, ...length, PAYWEAVE_TEST_MESH: 'none' },
  stdio: 'inherit',
})
child.on('exit', (code) => {
  process.exitCode = code ?? 1
})
