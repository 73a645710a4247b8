// The long tests for as long as wanted: `npm run test:kill -- --minutes N`, `-- --bill-rounds N` or `-- --herd N`. It does nothing else.
import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    'bill-rounds': { type: 'string' },
    herd: { type: 'string' },
  },
})
const system = ['--config', 'test/system/vitest.config.ts']
const [words, length] = chosen()

/** The words for vitest, and how long the test shall be. */
function chosen(): [string[], Record<string, string>] {
  const { minutes = '10', 'bill-rounds': rounds, herd } = values
  if (herd !== undefined) {
    const HERD_PUSHES = String(wanted(herd, '--herd'))
    return [['test/delivery/recovery.test.ts', '-t', 'a herd'], { HERD_PUSHES }]
  }
  if (rounds !== undefined) {
    const KILL_BILL_ROUNDS = String(wanted(rounds, '--bill-rounds'))
    return [[...system, 'test/system/kill-bills.test.ts'], { KILL_BILL_ROUNDS }]
  }
  const KILL_TEST_S = String(wanted(minutes, '--minutes') * 60)
  return [[...system, 'test/system/kill.test.ts'], { KILL_TEST_S }]
}

function wanted(text: string, option: string): number {
  const value = Number(text)
  if (!(value > 0)) throw new Error(`${option} wants a number above zero`)
  return value
}

const child = spawn('vitest', ['run', ...words], {
  env: { ...process.env, ...length, PAYWEAVE_TEST_MESH: 'none' },
  stdio: 'inherit',
})
child.on('exit', (code) => {
  process.exitCode = code ?? 1
})
